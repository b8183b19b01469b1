"""The phrases of ``nomina.context``, which explains the kinds. Data only.

A phrase is words between single spaces, signs being words of their own; ``a|b`` is a choice, and a word or choice that
ends in ``?`` may be absent. "Not" stands for all its contractions.
"""

from __future__ import annotations

SEEN = (
    "observed|seen|detected|found|identified|noted|noticed|evident|apparent|reported|recorded|demonstrated|documented|"
    "visualized|visualised|appreciated|elicited|described|confirmed|palpable|audible|visible|present"
)
_DEGREE = "statistically? significant|major|clear|obvious|apparent|marked|consistent|detectable?"
_PEOPLE = "patient|patients|individual|individuals|subject|subjects|child|children|case|cases|families"

NEGATION: dict[str, tuple[str, ...]] = {
    "forward": (
        "no|never|without|neither|nor|not|lacks|lacked|lacking|excludes|excluded|excluding",
        f"no|neither {_PEOPLE}|one|parent|sibling|relative has|have|had|with|developed|showed",
        f"none of the|these|our|them? {_PEOPLE}? has|have|had|developed|showed?",
        "no longer has|have|had?",
        "no history of having? had?",
        "not|never yet|ever|previously? has|have|had|having|experienced|developed had?",
        "not present with",
        "not be|been? found|known|noted|observed|reported|seen to have|had",
        "denies|denied|denying|deny that? he|she|they|any? has|had|having? had?",
        "w / o",
        "lack|absence of",
        "is|are|was|were|been? negative|neg|unremarkable for",
        ": negative|neg|unremarkable for",
        "free of|from",
        "rules out",
        "ruled out for?",
        "is|are|was|were? unlikely to be|have|represent|develop",
        "is|are|was|were? unlikely that he|she|they|the? patient|child? has|have|had?",
        "rather than",
        "instead of",
        "fails|failed to show|reveal|demonstrate|develop",
    ),
    "near": ("absent",),
    "backward": (
        f"not be|been? clearly|yet|otherwise|ever? {SEEN}",
        "not|never occur|occurred|recur|recurred",
        f"never been? {SEEN}",
        "is|are|was|were|be|been|being absent|negative|lacking|unlikely|denied|excluded|ruled out?",
        ": absent|negative|none|denied|excluded",
        ": no .|,|;",
        "absent|negative|denied|excluded|unlikely .|,|;|)",
        "ruled out .|,|;|by|on|with",
        "came|come|comes back? negative",
        "observed|seen|found|noted|reported|present? in none of?",
    ),
    "adjacent": (
        "- free|negative",
        "-|–|— no|none|absent|denied .|,|;",
        "( no|none|absent|negative|neg|denied|excluded )",
        f"( not {SEEN} )",
        "free for|since|after",
    ),
    "nothing": (
        f"no {_DEGREE} increase|increased|decrease|decreased|change|changes|difference|differences|effect|effects",
        f"no {_DEGREE} correlation|association|associations|relationship|relation|impact|influence|improvement",
        f"no {_DEGREE} worsening|progression|response|interaction|benefit|reduction|deterioration|recurrence",
        "no further|more|doubt|matter|sooner|treatment|therapy|information|data|consensus|cure|specific|.",
        "no less|fewer|later than",
        "no difficulty|difficulties",
        "no cause|reason|explanation of|for",
        "not only|just|merely|simply|necessarily|always|all|every|sure|certain|clear|uncommon|uncommonly|unusual|rare",
        "not infrequent|infrequently|surprising|unexpected|unlike|unlikely|due|related|attributable|limited|well",
        "not specific|restricted|secondary|diagnostic|sufficient|required|necessary|cause|caused|explained|worsen",
        "not associated|correlated|accompanied|affected|influenced|altered|changed|controlled|relieved|differ|depend",
        "not affect|alter|change|improve|improved|relieve|resolve|resolved|respond|responding|prevent|preclude",
        "not fully|completely|entirely|adequately controlled|understood|resolved|resolve|explained|explain",
        "not known|clear|certain whether|if",
        "not be|been|yet? yet|definitely|definitively|entirely|completely|formally|be? exclude|excluded|eliminated",
        "not be|been|yet? yet|definitely|definitively|entirely|completely|formally|be? rule|ruled out",
        "to|should|must|may|might be excluded",
        "to|should|must|may|might be ruled out",
        "is|are|was|were excluded from|if|because|when",
        "whether|if|or? or not",
        "without any|much|great|further? difficulty|difficulties|delay|incident|problems|trouble|issue|issues",
        "without any|further|medical|surgical? treatment|therapy|intervention|medication|support|assistance|help|aid",
        "without any|further|significant? improvement|response|change|effect|success|benefit|regard|doubt|recurrence",
        f"{_PEOPLE}? with or|and|/ without",
        f"{_PEOPLE}? with and / or without",
        "presence or|and|/ absence of",
        "no or|to mild|minimal|little|slight",
        "gram|rh -? negative",
        "never married|smoker|smoked|before",
    ),
    "stop": (
        "but|however|although|though|except|nevertheless|nonetheless|whereas|while|whilst|despite|because|since|until|;",
        "which|who|whose|whom|after|before|following",
        "apart|aside from",
        "other than",
        "with the exception of",
        "in addition|contrast|whom",
        "due|secondary|owing|prior to",
        "caused|explained by",
        f"in|among the|a|an|our|all|these|those|any? {_PEOPLE}",
        f"{_PEOPLE} with",
        "has|had|shows|showed|revealed|demonstrated|developed|exhibited|suffers|suffered|presents|presented|presenting",
        "reports|reported|complains|complained|complaining|endorses|endorsed|admits|admitted",
        "is|was|are|were? positive|notable|remarkable|significant for",
        ",? and|, he|she|they|his|her|their|there|it|this|is|was|were|has|had|have|then|also|now",
        f", the {_PEOPLE}|boy|girl|proband",
        ", with|a|an|the|this|these|we|positive",
    ),
    "stop_backward": ("is|was|are|were|have", ":|-|–|( yes|present|positive"),
}
"""Phrases that deny, that look as if they did, and that end the reach of those that do."""

_MAY = "can|may|might|could also|even|sometimes|rarely|potentially|then|eventually?"
_SEEK = "screen|screens|screened|screening|monitor|monitored|monitoring|watch|check|checked|looking|look|surveillance"

HYPOTHETICAL: dict[str, tuple[str, ...]] = {
    "forward": (
        "risk|risks|chance|chances|danger|likelihood|probability of|for having|developing|experiencing|suffering?",
        "risk factor|factors for|of",
        "predispose|predisposes|predisposed|predisposing|predisposition|susceptible|susceptibility to",
        f"{_MAY} cause|trigger|provoke|precipitate|induce|develop|experience",
        f"{_MAY} lead|progress|predispose to",
        f"{_MAY} result|end in",
        "rule|ruling out",
        "exclude",
        "r / o",
        f"{_SEEK} him|her|them|you|out? for",
        "prevent|preventing",
        "prevention|prophylaxis|prophylactic|vaccinated|immunised|immunized|vaccination of|against|for",
        "in case|event of",
        "should he|she|they|you|there develop|experience|notice|be",
    ),
    "near": ("if",),
    "backward": (
        "be ruled|excluded out?",
        f"{_MAY} occur|develop|ensue|arise|follow",
        "is|are|remains a|the? known|possible|potential? risk|possibility",
    ),
    "adjacent": ("risk|risks|screen|screening|surveillance|prophylaxis|prevention",),
    "nothing": (
        "if any|not|possible|needed|necessary|required|indicated|so|applicable|only",
        "as|even|what|but|only if",
        "can|could be excluded",
    ),
    "stop": (
        "but|however|although|though|except|whereas|while|whilst|despite|because|since|until|;",
        "which|who|whose|whom|after|before|following|when",
        "due|secondary|owing|prior to",
        "shows|showed|revealed|demonstrated|exhibited|presents|presented|presenting",
        "reports|reported|complains|complained|complaining|endorses|endorsed|admits|admitted",
        f"{_PEOPLE} with",
        ",? and|, he|she|they|we|his|her|their|there|it|this|is|was|were|has|had|then|also|now",
        f", the|our|a {_PEOPLE}|boy|girl|proband",
    ),
    "stop_backward": ("has|had|have|with|showed|shows|revealed|developed|:",),
}
"""Phrases by which a finding is feared, looked for, warned of or to be prevented, and not said to be there."""

_ELDERS = "mother|father|mom|dad|mum|parent|parents|grandmother|grandfather|grandparents|aunt|uncle|wife|husband"
_RELATIVES = (
    f"{_ELDERS}|brother|brothers|sister|sisters|sibling|siblings|sib|sibs|son|sons|daughter|daughters|aunts|uncles|"
    "cousin|cousins|nephew|nephews|niece|nieces|grandparent|grandson|granddaughter|relatives"
)
_SAY = (
    "reports|reported|report|states|stated|says|said|notes|noted|notices|noticed|describes|described|denies|denied|deny|"
    "recalls|recalled|told|tells|informed|indicated|believes|thinks|feels|felt|observed|confirmed|confirms|gave|brought|brings|provided|mentions|"
    "mentioned|complains|complained|endorses|endorsed|explained|requests|requested"
)
_NUMBER = "two|three|four|five|six|seven"
_WELL = "healthy|unaffected|unrelated|consanguineous|nonconsanguineous|asymptomatic|normal|well"

FAMILY: dict[str, tuple[str, ...]] = {
    "person": (
        _RELATIVES,
        "|".join(f"{relative}'s" for relative in _RELATIVES.split("|") if not relative.endswith("s")),
        f"{_RELATIVES} of the|this|our patient|proband|child|boy|girl",
        f"has|have|had|his|her {_NUMBER} {_RELATIVES}",
    ),
    "forward": (
        "family member|members",
        "family|familial history|hx of|for?",
        "fh|fhx|fmhx",
        "maternal|paternal history|side|family",
    ),
    "both": (f"in his|her|the|a|an|one|both|their? older|younger|maternal|paternal|affected? {_RELATIVES}",),
    "backward": (
        "runs|run|running in the|his|her|their? family",
        "in his|her|their family",
        "on the|his|her|their? maternal|paternal|mother's|father's side",
    ),
    "nothing": (
        f"{_ELDERS}|brother|sister also|first|initially|has|had|have|who|and? {_SAY}",
        f"mother and father|grandmother|aunt {_SAY}",
        f"{_RELATIVES} is|was|are|were both|also|otherwise? {_WELL}|concerned|worried|present",
        f"{_WELL} {_RELATIVES}",
        f"per|by|from|with|to his|her|the|their? {_ELDERS}",
        "mother to child|infant",
        "mother's|mom's|mum's first|second|third|fourth|current? pregnancy|gestation|labor|labour|delivery|milk",
        f"{_NUMBER} affected|male|female? {_RELATIVES}",
        "mother|daughter|sister|parent cell|cells|chromatid|chromatids|strain|line|lines|species|group|compound|drug",
        "when|where|that|as|after|before|since|until he|she",
    ),
    "stop": (
        "patient|patients|patient's|proband|proband's|probands|propositus|child|child's|boy|girl|infant|baby|newborn",
        "he|she|but|however|whereas|while|;",
        ",? and|, his|her",
    ),
    "stop_backward": (",|and|had|has|with|who",),
}
"""Phrases that give a finding to a relative, that only mention one, and that lead back to the patient."""

_PATIENTS = "patient|proband|propositus|child|boy|girl|infant|baby|newborn|neonate|he|she"
PATIENTS = frozenset([*_PATIENTS.split("|"), "male", "female", "born"])
"""Whom a clause about a relative may hang on: "a boy of a diabetic mother", "born to a mother with epilepsy"."""

PREDICATES = frozenset(
    "has have had is are was were does do did shows showed presents presented develops developed exhibits exhibited "
    "suffers suffered died".split()
)
"""Verbs of which a clause has one."""

_NOTE = r"(?: ?\([^()]{0,40}\))?"
_KIN = (
    rf"(?:(?:his|her|their|the|an?|one|both|{_NUMBER}|older|younger|elder|twin|half|affected|maternal|paternal)[ -])*"
    rf"(?:{_RELATIVES})\b(?!'){_NOTE}"
)
IN_PASSING = (
    rf"\b(?:{_PATIENTS})\b({_NOTE}(?: (?:and|as well as) {_KIN}|(?:, {_KIN})+,? and {_KIN}))"
    rf"|\b((?:{_RELATIVES}) of (?:the|this|our) (?:{_PATIENTS}) "
    rf"(?:(?:also|first|initially|has|had|have|who) )*(?:{_SAY})\b)"
)
"""Groups: relatives who share what the patient has ("the proband | and his sister | had"), and who only tell of it."""

AUXILIARIES = frozenset("is are was were be been being has have had do does did could can may".split())
"""Verbs that may stand before a trigger and belong to it."""

_FUNCTION_WORDS = frozenset("in by on a an the his her their one both affected older younger".split())
SMALL_WORDS = AUXILIARIES.union(_FUNCTION_WORDS, SEEN.split("|"), _NUMBER.split("|"))
"""Words that say nothing by themselves: none of them betrays a trigger."""

_NEGATED_VERBS = (
    "isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't cannot can't couldn't wouldn't won't"
)
CONTRACTIONS = dict.fromkeys(_NEGATED_VERBS.split(), "not")
"""What is read as "not"."""

ABSENT = frozenset(
    "absent absence no not none lack lacking lacks loss lost missing without aplasia aplastic agenesis failure"
    " inability unable cessation deficiency deficient".split()
)
"""Words of names that say themselves that something is not there."""
