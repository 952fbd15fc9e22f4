// The pages work without this file: it completes names in SQL, moves sliders, and asks for the plan while typing.
"use strict";

document.documentElement.classList.add("scripted");

// --- the cost: a slider on a logarithmic scale, and the table of costs -------------------------------------------------

const STEPS = 60;
const DECADES = 3;

function amountAt(position, most) {
  const value = most * 10 ** ((position / STEPS - 1) * DECADES);
  return Number(value.toPrecision(2)) > most ? most : Number(value.toPrecision(2));
}

function positionOf(amount, most) {
  return Math.max(0, Math.min(STEPS, Math.round((1 + Math.log10(amount / most) / DECADES) * STEPS)));
}

function choose(amount) {
  const field = document.getElementById("amount");
  field.value = String(amount);
  field.form.elements.by_error.value = "no";
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

function slide(slider) {
  const field = document.getElementById(slider.dataset.slides);
  const most = Number(slider.dataset.most);
  const follow = () => {
    const amount = Number(field.value);
    if (amount > 0) slider.value = String(positionOf(amount, most));
    slider.setAttribute("aria-valuetext", field.value || "not chosen");
  };
  if (!(most > 0)) return;
  slider.hidden = false;
  slider.value = "0";
  slider.addEventListener("input", (event) => {
    event.stopPropagation();
    choose(amountAt(Number(slider.value), most));
  });
  field.addEventListener("input", follow);
  follow();
}

document.querySelectorAll("[data-slides]").forEach(slide);
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-choose]");
  if (button !== null) choose(button.dataset.choose);
});
document.querySelectorAll("#error").forEach((field) => {
  field.addEventListener("input", () => { field.form.elements.by_error.value = field.value === "" ? "no" : "yes"; });
});

// --- the form: a further condition appears when the one before it has a column -----------------------------------------

function showFilters() {
  let before = true;
  document.querySelectorAll(".filter").forEach((filter) => {
    const used = filter.querySelector("select").value !== "";
    if (filter.classList.contains("more-filter")) filter.classList.toggle("shown", before || used);
    before = used;
  });
}

document.querySelectorAll(".filter select").forEach((select) => select.addEventListener("change", showFilters));
showFilters();

// --- completion of names in SQL ----------------------------------------------------------------------------------------

const WORD = /('[^']*|[\p{L}_][\p{L}\p{N}_]*)$/u;
const MOST_COMPLETIONS = 12;

class Completion {
  constructor(editor) {
    this.editor = editor;
    this.words = JSON.parse(editor.dataset.words);
    this.found = [];
    this.chosen = -1;
    this.list = document.createElement("ul");
    this.list.className = "completions";
    this.list.id = "completions";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Completions");
    this.list.hidden = true;
    editor.after(this.list);
    editor.setAttribute("aria-autocomplete", "list");
    editor.setAttribute("aria-controls", "completions");
    this.status = document.createElement("p");
    this.status.className = "unseen";
    this.status.setAttribute("role", "status");
    this.list.after(this.status);
    editor.addEventListener("input", () => this.open());
    editor.addEventListener("keydown", (event) => this.key(event));
    editor.addEventListener("blur", () => this.close());
    this.list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const item = event.target.closest("li");
      if (item !== null) { this.chosen = Number(item.dataset.index); this.take(); }
    });
  }

  start() {
    const before = this.editor.value.slice(0, this.editor.selectionStart);
    const match = WORD.exec(before);
    return match === null ? "" : match[0];
  }

  open() {
    const start = this.start();
    const lower = start.toLowerCase();
    this.found = lower.length < 1 ? [] : this.words
      .filter(([word]) => word.toLowerCase().startsWith(lower) && word.toLowerCase() !== lower)
      .slice(0, MOST_COMPLETIONS);
    this.chosen = -1;
    this.show();
  }

  show() {
    this.list.replaceChildren(...this.found.map(([word, kind], index) => {
      const item = document.createElement("li");
      item.id = `completion-${index}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(index === this.chosen));
      item.dataset.index = String(index);
      const shown = document.createElement("span");
      shown.textContent = kind;
      item.append(word, shown);
      return item;
    }));
    const isOpen = this.found.length > 0;
    this.list.hidden = !isOpen;
    this.status.textContent = isOpen ? `${this.found.length} completions` : "";
    if (isOpen) {
      this.place();
    }
    if (isOpen && this.chosen >= 0) {
      this.editor.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
      this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
    } else {
      this.editor.removeAttribute("aria-activedescendant");
    }
  }

  place() {
    const style = getComputedStyle(this.editor);
    const lines = this.editor.value.slice(0, this.editor.selectionStart).split("\n");
    const height = parseFloat(style.lineHeight);
    const top = this.editor.offsetTop + parseFloat(style.paddingTop) + lines.length * height - this.editor.scrollTop;
    const left = (lines.at(-1).length - this.start().length) * parseFloat(style.fontSize) * 0.6;
    const most = Math.max(0, this.editor.clientWidth - 240);
    this.list.style.top = `${Math.min(top + 4, this.editor.offsetTop + this.editor.offsetHeight)}px`;
    this.list.style.left = `${Math.min(left + 8, most)}px`;
  }

  key(event) {
    if (this.list.hidden) return;
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) {
      event.preventDefault();
      const before = this.chosen < 0 && event.key === "ArrowUp" ? 0 : this.chosen;
      this.chosen = (before + moves[event.key] + this.found.length) % this.found.length;
      this.show();
    } else if (event.key === "Enter" && this.chosen >= 0) {
      event.preventDefault();
      this.take();
    } else if (event.key === "Escape") {
      event.preventDefault();
      this.close();
    }
  }

  take() {
    const [word] = this.found[this.chosen];
    const end = this.editor.selectionStart;
    const plain = /^[a-z_][a-z0-9_]*$/i.test(word) || /[(']/.test(word) || word === word.toUpperCase();
    const text = plain ? word : `"${word.replaceAll('"', '""')}"`;
    this.editor.setRangeText(text, end - this.start().length, end, "end");
    this.close();
    this.editor.dispatchEvent(new Event("input", { bubbles: true }));
    this.close();
  }

  close() {
    this.found = [];
    this.show();
  }
}

document.querySelectorAll("textarea[data-words]").forEach((editor) => new Completion(editor));

// --- the policy: each mistake at its field -----------------------------------------------------------------------------

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id !== "check") return;
  const mistakes = new Map();
  event.target.querySelectorAll("[data-mistake]").forEach((item) => mistakes.set(item.dataset.mistake, item.dataset.message));
  document.querySelectorAll("[data-field]").forEach((field) => {
    const message = mistakes.get(field.dataset.field) ?? "";
    field.toggleAttribute("aria-invalid", false);
    if (message !== "") field.setAttribute("aria-invalid", "true");
    document.getElementById(field.getAttribute("aria-describedby")).textContent = message;
  });
});

// --- a server that cannot be reached ------------------------------------------------------------------------------------

document.addEventListener("htmx:sendError", (event) => {
  const place = event.target.closest("[aria-live], [role=status]");
  if (place === null || place.querySelector(".offline") !== null) return;
  const notice = document.createElement("p");
  notice.className = "notice wrong offline";
  notice.textContent = "The server cannot be reached. What was charged is in the ledger.";
  place.prepend(notice);
});
