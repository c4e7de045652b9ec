"""How people say things in a conversation: what is decided, done, felt, and what about. English cues, in tables."""

import re
from collections import Counter
from collections.abc import Sequence

AGENTS = frozenset({"agent", "assistant", "ai", "bot", "system"})  # who speaks for the machine

_DECIDED = re.compile(
    r"\b(?:decided|decision|agreed|chose|chosen|settled on|went with|going with|go with|let['’]?s|we['’]ll|we "
    r"will|switch(?:ed)? to|"
    r"opted|conclu\w+|approved)\b",
    re.I,
)
_MATTERS = re.compile(
    r"\b(?:always|never|must|remember|important|deadline|due|prefers?|likes?|loves?|hates?|allergic|lives?|"
    r"birthday|wants?|needs?|"
    r"works? (?:at|for|as|on)|because|root cause|lesson|password|version|budget|costs?|price|meeting|launch\w*|"
    r"name is|moved)\b",
    re.I,
)
_DONE = re.compile(
    r"\b(?:deployed|fixed|installed|finished|completed|shipped|released|merged|bought|booked|sent|created|added|"
    r"removed|updated|"
    r"migrated|upgraded|configured|found|failed|broke|crashed|lost|signed|paid|cancell?ed|scheduled|tested|wrote|"
    r"built|set up|"
    r"renamed|reverted|rolled back|restarted|published)\b",
    re.I,
)
_EMPTY = re.compile(
    r"^(?:good idea|great|ok(?:ay)?|sure|thanks?|thank you|yes|yeah|yep|no problem|sounds good|perfect|nice|cool|"
    r"hi|hello|hey|got it|"
    r"will do|done|right|exactly|agreed|understood|noted|you['’]re welcome|good (?:morning|evening|night)|bye)\b",
    re.I,
)
_PROPOSAL = re.compile(
    r"\b(?:let['’]?s|should we|shall we|we should|we could|how about|why don['’]t we|i (?:suggest|propose))\b", re.I
)
_FIRM = re.compile(r"\blet['’]?s\b", re.I)
_YES = re.compile(
    r"^(?:yes|yeah|yep|ok(?:ay)?|sure|agreed|good (?:idea|call|plan|point)|great (?:idea|call)?|sounds good|"
    r"perfect|absolutely|exactly|"
    r"definitely|fine|deal|done|makes sense|i agree|right|will do|do it|go ahead|works for me)\b",
    re.I,
)
_NO = re.compile(
    r"^(?:no|nope|bad idea|rather not|i disagree|not (?:a good idea|yet|now)|don['’]t|better not|let['’]?s "
    r"not)\b",
    re.I,
)
_LETS = re.compile(
    r"^(?:(?:ok(?:ay)?|so|well|then|and|yes|alright|right)[, ]+)?(?:let['’]?s|shall we|should we|we should|how "
    r"about we|we could) ",
    re.I,
)
_TAIL = re.compile(r"^(?:and|but|so|then|well|ok(?:ay)?|alright|also|oh|hey|hi|yes|yeah|please|just)[, ]+", re.I)
_FIRST_PERSON = (
    (re.compile(r"^I['’]m\b", re.I), "User is"),
    (re.compile(r"^I am\b", re.I), "User is"),
    (re.compile(r"^I['’]ve\b", re.I), "User has"),
    (re.compile(r"^I have\b", re.I), "User has"),
    (re.compile(r"^I['’]ll\b", re.I), "User will"),
    (re.compile(r"^I['’]d like\b", re.I), "User would like"),
    (
        re.compile(
            r"^I (prefer|like|love|hate|need|want|live|work|think|use|own|know|run|drink|eat|play|study|"
            r"teach)\b",
            re.I,
        ),
        r"User \1s",
    ),
    (re.compile(r"^I ", re.I), "User "),
    (re.compile(r"^My\b", re.I), "User's"),
)

#: A word as it begins → the topic that it names.
TOPICS = dict(
    re.findall(
        r"(\w{1,20}):(\w{1,20})",
        "deploy:deployment safe:safety secur:security test:testing budget:budget pric:pricing invoic:billing "
        "bill:billing pay:payments databas:database migrat:migration backup:backup restor:backup meet:meeting "
        "birthday:birthday holiday:holiday vacation:holiday travel:travel flight:travel hotel:travel "
        "allerg:health doctor:health dentist:health architect:architecture depend:dependencies "
        "perform:performance slow:performance bug:bug crash:bug error:bug releas:release ship:release "
        "launch:launch design:design document:documentation doc:documentation hir:hiring interview:hiring "
        "contract:contract legal:legal blockchain:blockchain model:model server:server network:network "
        "email:email monitor:monitoring alert:monitoring cost:costs deadlin:deadline school:school family:family "
        "food:food coffee:food tea:food ",
    )
)
_ENDINGS = frozenset({"", "s", "d", "ed", "er", "ers", "es", "e", "ing", "ings", "ly", "ty", "ment", "ments", "y", "r"})
_FEELINGS = (
    ("frustrated", r"frustrat\w*|annoy\w*|fed up|ugh|damn|again\?!|tired of"),
    ("worried", r"worr\w+|concern\w*|afraid|nervous|anxious|scared|stress\w*"),
    ("angry", r"angry|furious|unacceptable|outrag\w+"),
    ("sad", r"sad|sorry to hear|unfortunately|miss(?:ed)? (?:her|him|them)|disappoint\w*|passed away"),
    ("excited", r"excit\w+|awesome|amazing|can['’]t wait|thrilled|fantastic|woohoo|brilliant"),
    ("happy", r"happy|glad|delighted|love it|great news|congrat\w*|proud|yay"),
    ("relieved", r"reliev\w*|finally|phew|thank god"),
    (
        "cautious",
        r"safer|careful\w*|caution|cautious|to be safe|risk\w*|just in case|double.check|first\b.{0,40}\bmainnet",
    ),
    ("confused", r"confus\w*|don['’]t understand|not sure|unclear|no idea"),
    ("determined", r"decided|determin\w*|must|no matter what|definitely|whatever it takes"),
    ("grateful", r"thank\w*|grateful|appreciat\w*"),
)
_FELT = [(name, re.compile(rf"\b(?:{words})\b", re.I)) for name, words in _FEELINGS]
_BAD = re.compile(
    r"\b(?:fail\w*|broke\w*|crash\w*|error|lost|reject\w*|cancell?ed|denied|worse|problem|down again|blocked|bug|"
    r"unfortunately|outage)\b",
    re.I,
)
_FINE = re.compile(
    r"\b(?:fixed|solved|works?(?: now)?|working|done|success\w*|passed|approved|great|good|perfect|finished|"
    r"shipped|resolved|completed|"
    r"happy|deployed|merged|signed|confirmed|released|booked|paid)\b",
    re.I,
)
_OPEN = re.compile(
    r"\b(?:will|waiting|wait for|todo|to do|pending|tomorrow|next (?:week|month)|plan\w*|need(?:s)? to|should|"
    r"remind|later|by (?:monday|"
    r"tuesday|wednesday|thursday|friday|saturday|sunday)|going to|deadline)\b|\?",
    re.I,
)
_STOP_ACTION = re.compile(
    r"\s(?:because|since|so(?: that)?|before|after|but|which|that|who|when|while|if|first|instead|asap|please|"
    r"then|again|today|tomorrow|"
    r"tonight|now|soon|later|yesterday|until|unless|and (?:then|we|i|he|she|they)|as|next|by|this|last|to "
    r"(?:avoid|keep|save|make|be|get|"
    r"reduce|prevent))\b|[,.;:!?()]\s|[,.;:!?()]$|\s[-–—]\s",
    re.I,
)
_AFTER = re.compile(
    r"\b(?:let['’]?s(?: not)?|(?:decided|agreed|chose|going|plan|plans|planned|want|wants|wanted|need|needs|"
    r"needed|have|has|had|trying|try|"
    r"remember|promised|asked (?:me|us|you|him|her|them)|forgot|like|supposed|ready|managed|offered|"
    r"volunteered)(?: not)? to|we['’]ll|i['’]ll|"
    r"(?:we|i|you|he|she|they|[A-Z][a-z]+) (?:will|should|must)(?: (?:also|then|now|always|never))?|should we|"
    r"shall we|please|"
    r"can you|could you|would you|to (?=avoid\b))\s+",
    re.I,
)
_BY = re.compile(
    r"\b(?:we|i|you|he|she|they|[A-Z][a-z]+|and|just|already|have|has|had|was|were|finally|successfully|"
    r"been)\s+(?:just |already |finally |also )?"
    r"((?:deployed|fixed|installed|finished|completed|shipped|released|merged|bought|booked|sent|created|added|"
    r"removed|updated|"
    r"migrated|upgraded|configured|signed|paid|cancell?ed|scheduled|tested|wrote|built|set up|renamed|reverted|"
    r"rolled back|restarted|"
    r"published|ordered|called|emailed|moved|switched|reviewed|approved|rewrote|deleted|backed up|hired|rejected)\b)",
    re.I,
)
_IMPERATIVE = re.compile(
    r"^(?:please |now |then |also |and |just |ok(?:ay)?,? )?((?:add|ask|avoid|back up|book|build|buy|call|cancel|"
    r"change|check|clean|configure|"
    r"copy|create|delete|deploy|disable|download|email|enable|fix|install|keep|merge|migrate|move|open|order|pay|"
    r"ping|plan|prepare|publish|"
    r"push|put|release|remind|remove|rename|replace|restart|restore|revert|review|roll back|rotate|run|schedule|"
    r"send|set|ship|sign|start|stop|"
    r"store|switch|test|update|upgrade|upload|use|verify|write)\b)",
    re.I,
)
_NOT_A_VERB = frozenset(
    re.findall(
        r"\w+", "be see know think have the a an it that this me us you him her them not go say hear wait talk do"
    )
)
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a about after again all also always am an and any are as ask asked at be because been before being both "
        "but by can come could "
        "day days did do does done down each even every few find first for from get give go going good got great "
        "had has have he help her "
        "here him his how i idea if in into is it its just keep know last later let lets like look made make many "
        "may me more most much "
        "must my need needs never new next no not now of off ok okay on one only or other our out over own please "
        "put really right said "
        "same say says see sent she should since so some still sure take tell than thank thanks that the their "
        "them then there these they "
        "thing things think this those time to today tomorrow too two until up us use used user very want wants "
        "was way we week well went "
        "were what when where which while who why will with work works would year yes yesterday yet you your "
        "decided agreed agent assistant "
        "human safer better best works deal doing working makes sense maybe already around another between under "
        "through per morning "
        "evening night month months hours minutes friday monday tuesday wednesday thursday saturday sunday",
    )
)
_TOKEN = re.compile(r"[A-Za-z0-9\u00c0-\u024f][\w+#.-]{0,40}")
MOST_TOPICS, MOST_ACTIONS, ACTION_WORDS = 5, 3, 8


def weight(sentence: str) -> float:
    """How much a sentence says that is worth keeping."""
    words = len(sentence.split())
    value = min(words, 20) / 20
    value += (
        3 * bool(_DECIDED.search(sentence)) + 2 * bool(_DONE.search(sentence)) + 1.5 * bool(_MATTERS.search(sentence))
    )
    value += 1.5 * ("://" in sentence or "`" in sentence) + 0.5 * any(map(str.isdigit, sentence))
    value += 0.5 * bool(_IMPERATIVE.match(sentence))
    if _EMPTY.match(sentence):
        value -= 2 if words <= 6 else 0.7
    return value - (1.5 if sentence.rstrip().endswith("?") and not _PROPOSAL.search(sentence) else 0)


def is_proposal(sentence: str) -> bool:
    """Whether a sentence proposes something to do together."""
    return bool(_PROPOSAL.search(sentence))


def is_firm(sentence: str) -> bool:
    """Whether a proposal is as good as decided."""
    return bool(_FIRM.search(sentence)) and not sentence.rstrip().endswith("?")


def answer(sentence: str) -> bool | None:
    """Whether a sentence agrees or turns down; None for neither."""
    said = sentence.strip()
    if _NO.match(said):
        return False
    return True if _YES.match(said) else None


def stated(sentence: str, speaker: str, decided: bool | None) -> str:
    """A sentence as a fact: who decided what, without the way it was said."""
    text = " ".join(sentence.split()).rstrip(" .!?")
    lets = _LETS.match(text)
    if lets:
        rest = text[lets.end() :]
        negative = rest.casefold().startswith("not ") or decided is False
        rest = rest[4:] if rest.casefold().startswith("not ") else rest
        how = "Decided not to" if negative else "Decided to" if decided else "Proposed to"
        return f"{how} {rest}"
    text = _TAIL.sub("", text, count=1)
    name = "User" if speaker in ("", "user", "human", "me") else speaker.title()
    for pattern, instead in _FIRST_PERSON:
        if pattern.search(text):
            text = pattern.sub(instead.replace("User", name), text, count=1)
            break
    return text[:1].upper() + text[1:]


def emotion(text: str) -> str:
    """The feeling that a turn shows most, "neutral" for none."""
    found = [(len(pattern.findall(text)), -at, name) for at, (name, pattern) in enumerate(_FELT)]
    count, _, name = max(found)
    return name if count else "neutral"


def outcome(text: str, decided: bool) -> str:
    """How it stands: positive, negative, pending or ongoing."""
    good, bad, still_open = (len(pattern.findall(text)) for pattern in (_FINE, _BAD, _OPEN))
    if bad > good:
        return "negative"
    if decided or good > still_open:
        return "positive"
    return "pending" if still_open else "positive" if good else "ongoing"


def topics(main: Sequence[str], whole: str) -> list[str]:
    """What a turn is about: named topics first, then the words that say most."""
    found: dict[str, None] = {}
    words = [*(word for text in main for word in _TOKEN.findall(text)), *_TOKEN.findall(whole)]
    for word in words:
        low = word.casefold()
        for start, topic in TOPICS.items():
            if low.startswith(start) and (len(start) > 4 or low[len(start) :] in _ENDINGS):
                found.setdefault(topic)
                break
    counts = Counter(word.strip(".-").casefold() for word in words)
    named = set(found)
    for word in sorted(counts, key=lambda word: (-counts[word], list(counts).index(word))):
        if (
            len(word) > 3
            and word not in _COMMON
            and not _is_told(word, named)
            and not word.isdigit()
            and "." not in word
        ):
            found.setdefault(word)
        if len(found) >= MOST_TOPICS:
            break
    return list(found)[:MOST_TOPICS]


def _is_told(word: str, named: set[str]) -> bool:
    return word in named or any(word.startswith(start) and topic in named for start, topic in TOPICS.items())


def actions(sentences: Sequence[str]) -> list[str]:
    """What was done or is to be done, as short phrases that begin with their verb."""
    found: dict[str, None] = {}
    for sentence in sentences:
        spans: list[str] = []
        for match in _AFTER.finditer(sentence):
            spans.append(sentence[match.end() :])
        if not spans:
            spans += [sentence[match.start(1) :] for match in _BY.finditer(sentence)]
            begin = _IMPERATIVE.match(sentence)
            spans += [sentence[begin.start(1) :]] if begin else []
        for span in spans:
            phrase = _phrase(span)
            if phrase and not any(phrase in other for other in found):
                found.setdefault(phrase)
    return list(found)[:MOST_ACTIONS]


def _phrase(text: str) -> str:
    """A verb and what belongs to it."""
    cut = _STOP_ACTION.search(f"{text} ")
    words = (text[: cut.start()] if cut and cut.start() else text).strip(" .,;:!?\"'").split()[:ACTION_WORDS]
    if not words or words[0].casefold() in _NOT_A_VERB or not words[0][0].isalpha():
        return ""
    while len(words) > 2 and words[-1].casefold() in (
        "the",
        "a",
        "an",
        "to",
        "of",
        "for",
        "with",
        "and",
        "or",
        "on",
        "in",
        "at",
        "from",
    ):
        words.pop()
    phrase = " ".join(words)
    return phrase[:1].lower() + phrase[1:] if len(words) > 1 else ""


def says_something(word: str) -> bool:
    """Whether a word carries meaning of its own."""
    return word.strip(".,;:!?()'\"").casefold() not in _COMMON
