"""The numbers in the charts of mechanisms. `tacit.plots` draws them.

| module | charts |
|---|---|
| `common` | the kinds of charts, themes, and errors against ε |
| `additive` | noise on numbers |
| `selection` | the choice of a candidate |
| `bits` | randomized response |
"""
