"""ISO 3166-1 codes of countries by region and subregion of the United Nations (M49), for drafted hierarchies.

XK (Kosovo) is in use and not assigned; TW is not in M49. Both are listed with their neighbours. Antarctica is a region.
"""

from __future__ import annotations

from functools import cache

_SUBREGIONS = {
    ("Africa", "Northern Africa"): "DZ DZA EG EGY LY LBY MA MAR SD SDN TN TUN EH ESH",
    ("Africa", "Eastern Africa"): (
        "IO IOT BI BDI KM COM DJ DJI ER ERI ET ETH TF ATF KE KEN MG MDG MW MWI MU MUS YT MYT MZ MOZ RE REU RW RWA "
        "SC SYC SO SOM SS SSD UG UGA TZ TZA ZM ZMB ZW ZWE"
    ),
    ("Africa", "Middle Africa"): "AO AGO CM CMR CF CAF TD TCD CG COG CD COD GQ GNQ GA GAB ST STP",
    ("Africa", "Southern Africa"): "BW BWA SZ SWZ LS LSO NA NAM ZA ZAF",
    ("Africa", "Western Africa"): (
        "BJ BEN BF BFA CV CPV CI CIV GM GMB GH GHA GN GIN GW GNB LR LBR ML MLI MR MRT NE NER NG NGA SH SHN SN SEN "
        "SL SLE TG TGO"
    ),
    ("Americas", "Caribbean"): (
        "AI AIA AG ATG AW ABW BS BHS BB BRB BQ BES VG VGB KY CYM CU CUB CW CUW DM DMA DO DOM GD GRD GP GLP HT HTI "
        "JM JAM MQ MTQ MS MSR PR PRI BL BLM KN KNA LC LCA MF MAF VC VCT SX SXM TT TTO TC TCA VI VIR"
    ),
    ("Americas", "Central America"): "BZ BLZ CR CRI SV SLV GT GTM HN HND MX MEX NI NIC PA PAN",
    ("Americas", "South America"): (
        "AR ARG BO BOL BV BVT BR BRA CL CHL CO COL EC ECU FK FLK GF GUF GY GUY PY PRY PE PER GS SGS SR SUR UY URY "
        "VE VEN"
    ),
    ("Americas", "Northern America"): "BM BMU CA CAN GL GRL PM SPM US USA",
    ("Antarctica", "Antarctica"): "AQ ATA",
    ("Asia", "Central Asia"): "KZ KAZ KG KGZ TJ TJK TM TKM UZ UZB",
    ("Asia", "Eastern Asia"): "CN CHN HK HKG JP JPN KP PRK KR KOR MO MAC MN MNG TW TWN",
    ("Asia", "South-eastern Asia"): ("BN BRN KH KHM ID IDN LA LAO MY MYS MM MMR PH PHL SG SGP TH THA TL TLS VN VNM"),
    ("Asia", "Southern Asia"): "AF AFG BD BGD BT BTN IN IND IR IRN MV MDV NP NPL PK PAK LK LKA",
    ("Asia", "Western Asia"): (
        "AM ARM AZ AZE BH BHR CY CYP GE GEO IQ IRQ IL ISR JO JOR KW KWT LB LBN OM OMN QA QAT SA SAU PS PSE SY SYR "
        "TR TUR AE ARE YE YEM"
    ),
    ("Europe", "Eastern Europe"): "BY BLR BG BGR CZ CZE HU HUN MD MDA PL POL RO ROU RU RUS SK SVK UA UKR",
    ("Europe", "Northern Europe"): (
        "AX ALA DK DNK EE EST FO FRO FI FIN GG GGY IS ISL IE IRL IM IMN JE JEY LV LVA LT LTU NO NOR SJ SJM SE SWE "
        "GB GBR"
    ),
    ("Europe", "Southern Europe"): (
        "AL ALB AD AND BA BIH HR HRV GI GIB GR GRC IT ITA XK XKX MT MLT ME MNE MK MKD PT PRT SM SMR RS SRB SI SVN "
        "ES ESP VA VAT"
    ),
    ("Europe", "Western Europe"): "AT AUT BE BEL FR FRA DE DEU LI LIE LU LUX MC MCO NL NLD CH CHE",
    ("Oceania", "Australia and New Zealand"): "AU AUS CX CXR CC CCK HM HMD NZ NZL NF NFK",
    ("Oceania", "Melanesia"): "FJ FJI NC NCL PG PNG SB SLB VU VUT",
    ("Oceania", "Micronesia"): "GU GUM KI KIR MH MHL FM FSM NR NRU MP MNP PW PLW UM UMI",
    ("Oceania", "Polynesia"): "AS ASM CK COK PF PYF NU NIU PN PCN WS WSM TK TKL TO TON TV TUV WF WLF",
}


@cache
def regions_of_countries() -> dict[str, tuple[str, str]]:
    """Return the subregion and the region of every code of two and of three letters.

    >>> regions_of_countries()["CH"], regions_of_countries()["MEX"]
    (('Western Europe', 'Europe'), ('Central America', 'Americas'))
    """
    return {code: (subregion, region) for (region, subregion), codes in _SUBREGIONS.items() for code in codes.split()}
