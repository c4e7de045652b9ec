"""The people that a text names: by their place in the sentence and by common first names, never by a capital alone."""

import re

#: Given names that are common somewhere and nothing else in English at the start of a sentence.
FIRST = frozenset(
    re.findall(
        r"\w+",
        "aaron abdul adam adrian ahmed aisha akira alan albert alejandro alex alexander alexandra alfred ali "
        "alice alicia "
        "alina amanda amelia amir amy ana anders andrea andreas andrew andy angela anita anja ann anna anne anthony "
        "antonio arjun arthur astrid ayesha barbara beatriz ben benjamin bernd bill bjorn bob boris bowen brandon "
        "brian "
        "bruno camila carla carlos carmen carol caroline catherine cathy charles charlie charlotte chen chloe chris "
        "christian christina christopher claire clara claudia craig cristina dan daniel daniela dave david "
        "deborah denis "
        "dennis derek diana diego dieter dmitri dominik donald dora doris dorothy doug douglas ebba eduardo "
        "edward elena "
        "eli elias elisa elisabeth eliza elizabeth ella ellen emily emma eric erik erika erin ethan eva evelyn "
        "fatima "
        "felix fernando fiona francesca francisco frank fred frida gabriel gareth gary george gerald giulia greg "
        "gregory "
        "guido gustav hannah hans harold harry hassan heather heidi helen henrik henry hiroshi holger hugo ian "
        "ibrahim "
        "igor ingrid irene isaac isabel isabella ivan jack jacob jakob james jamie jan jane janet jason javier "
        "jean jeff "
        "jennifer jens jeremy jessica jill jim joan joao joe joel johan johannes john johnny jonas jonathan jorge "
        "jose "
        "joseph josh joshua juan juho julia julian julie juliet jun june jurgen karen karin karl kate katherine "
        "kathy "
        "katie kay keith kelly ken kenji kevin klaus konrad kristina kurt kyle lars laura lauren lea leo leon "
        "lena lily "
        "linda lisa liu lucas lucia lucy luis luna lukas luke magnus maja manuel marc marcel marco marcus "
        "margaret maria "
        "marie marina mario marta martha martin marvin mary mateo matt matthew maya megan mehmet mei melissa mia "
        "michael "
        "michelle miguel mika mike mikhail mila milan mohammed monica nadia nancy naomi natalia natasha nathan "
        "neil nick "
        "nicholas nicole niels nikolai nils nina noah nora olga oliver olivia omar oscar otto pablo pam paolo pat "
        "patricia patrick paul paula pavel pedro peter petra phil philip pierre priya rachel rafael rahul ralf "
        "raj ravi "
        "rebecca ricardo richard rita rob robert roberto robin roger roland ronald rosa ruben rudolf russell ruth "
        "ryan "
        "sally sam samantha samuel sandra sanjay sara sarah sasha scott sean sebastian sergei sergio sharon shaun "
        "silvia "
        "simon sofia sonia sophia sophie stefan stella stephanie stephen steve steven sue susan sven svetlana "
        "takashi "
        "tamara tanja tara ted teresa thomas tim timothy tina tobias todd tom tomas tony tracy uwe valentina "
        "vanessa vera "
        "victor victoria viktor vincent vladimir walter wei wendy werner wilhelm william wolfgang xavier yasmin "
        "yuki yusuf "
        "yvonne zhang zoe",
    )
)
#: Capitalised words that are no people, whatever stands around them.
NEVER = frozenset(
    re.findall(
        r"\w+",
        "i the a an it this that these those we you they he she what when where why how who which if then so but "
        "and or not "
        "yes no ok okay sure thanks thank great good nice perfect right well also just please hi hello hey let "
        "lets our my "
        "your his her their its there here can could will would should shall may might must do does did is are "
        "was were "
        "have has had be been all some any every each both more most other one two three four five first second "
        "next last "
        "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
        "september october november december user agent assistant human ai bot system english german french spanish "
        "chinese japanese italian swedish norwegian australian american european google github gitlab docker "
        "python java "
        "javascript typescript rust linux windows mac macos ubuntu debian android ios postgres redis sqlite mysql "
        "turso "
        "kubernetes terraform ansible aws azure gcp slack discord telegram whatsapp zoom jira notion figma stripe "
        "paypal "
        "bsc eth btc api sql json yaml csv pdf http https url ci cd mr pr christmas easter internet web readme",
    )
)
_ROLES = frozenset({"user", "agent", "assistant", "human", "ai", "bot", "system", "me", "you", "model", "note", "todo"})
_DO = (
    "said|says|say|decided|decides|wants|wanted|will|would|should|has|had|is|was|likes|liked|loves|prefers|"
    "preferred|asked|asks|"
    "told|tells|thinks|thought|needs|needed|called|calls|suggested|suggests|agreed|agrees|joined|joins|lives|"
    "works|worked|"
    "left|leaves|sent|sends|wrote|writes|made|makes|found|fixed|reported|reports|approved|approves|reviewed|"
    "reviews|can|"
    "cannot|does|did|hates|owns|leads|manages|moved|moves|bought|booked|mentioned|confirmed|promised|recommended|"
    "turned|"
    "got|gets|gave|knows|knew|plans|planned|signed|quit|started|finished|visits|visited|celebrates|speaks|studies|"
    "teaches"
)
_WORD = r"[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]{1,20}(?:-[A-Z][a-z]{1,20})?"
_NAME = rf"{_WORD}(?: {_WORD})?"
_DOING = re.compile(rf"\b({_NAME})(?:['’]s)? (?:{_DO})\b")
_AND = re.compile(rf"\b({_NAME})(?:, ({_NAME}))? and ({_NAME})\b")
_TOLD = re.compile(
    rf"\b(?:with|ask|asked|tell|told|call|called|email|emailed|meet|met|meeting|invite|invited|thank|ping|pinged|"
    rf"hire|hired|by|from|for|to|"
    rf"about|named|name is|am|colleague|wife|husband|son|daughter|mother|father|sister|brother|friend|boss|manager|"
    rf"client|customer|partner|neighbour|neighbor|doctor|dentist|lawyer|teacher|[Mm]rs?\.?|[Mm]s\.?|[Dd]r\.?|"
    rf"[Pp]rof\.?) ({_NAME})\b"
)
_KIN = re.compile(rf"\b({_NAME}) \((?:wife|husband|son|daughter|mother|father|sister|brother|partner|friend)")
_OWNS = re.compile(rf"\b({_NAME})['’]s\b")
_SPEAKER = re.compile(rf"(?:^|[\n.!?] {{0,3}})({_NAME}):(?= )")
_ANY = re.compile(rf"\b{_WORD}\b")
_CLOSE = (
    "wife|husband|son|daughter|mother|father|sister|brother|friend|boss|colleague|manager|partner|client|neighbou?r|"
    "dentist|doctor|lawyer|teacher"
)
_SURE = re.compile(
    rf"\b(?:my|our|his|her|their) (?:\w+ )?(?:{_CLOSE}) ({_NAME})\b|"
    rf"\b(?:[Mm]rs?\.?|[Mm]s\.?|[Dd]r\.?|[Pp]rof\.?) ({_NAME})\b|\b(?:name is|named) ({_NAME})\b"
)
MOST = 5


def people(text: str) -> list[str]:
    """The names in a text in their order, at most MOST. What nobody marks as a person (a verb, a title) is none."""
    text = text[:20_000]
    found: dict[str, int] = {}

    def take(name: str | None, at: int, sure: bool) -> None:
        words = [word for word in (name or "").split() if word.casefold() not in NEVER]
        while words and len(words) < len((name or "").split()) and not sure and words[0].casefold() not in FIRST:
            words = words[1:]  # `Then Berlin`: the first word was none, so the second one stands alone
        if words and (sure or words[0].casefold() in FIRST):
            found.setdefault(" ".join(words), at)

    for match in _SURE.finditer(text):
        take(next(filter(None, match.groups()), None), match.start(), True)
    for match in _SPEAKER.finditer(text):
        if match[1].casefold() not in _ROLES:
            take(match[1], match.start(1), match[1].casefold() not in NEVER)
    for pattern in (_KIN, _DOING, _TOLD, _OWNS):
        for match in pattern.finditer(text):
            take(match[1], match.start(1), pattern is _KIN)
    for match in _AND.finditer(text):
        for group in (1, 2, 3):
            take(match[group], match.start(group) if match[group] else 0, False)
    for match in _ANY.finditer(text):
        take(match[0], match.start(), False)
    names = sorted(found, key=lambda name: (found[name], -len(name)))
    kept = [name for name in names if not any(other != name and name in other.split() for other in names)]
    return kept[:MOST]
