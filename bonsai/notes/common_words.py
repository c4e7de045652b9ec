"""How much a word of English says, before any memory is looked at.

A small memory cannot tell a rare word from a common one: `participate` may stand in it once, and so may `sourdough`.
The words of everyday English are listed here by hand, in three bands; all other words, and all other languages, count
in full. What a question is made of (`what did … do when`) counts only in a query that has nothing else.
"""

from functools import lru_cache
from re import findall

from bonsai.notes.stem import stem

FULL = 5.0  # what a word says that is not listed

_GLUE = """
a about am an and any are as at be been being but by can could did do does doing don doesn didn for from had has have
having he her hers him his how i if in into is isn it its me might my of on or our ours she should so some such than
that the their theirs them then there these they this those to too us was wasn we were what when where which while who
whom whose why will with would you your yours d ll m re s t ve
"""
_BANDS = {
    1.7: """
all also am back because before being best better big both call came come day down each even ever every feel find first
get give go going good got great help here home just keep kind know last let life like little live long look lot love
made make man many may mean mention more most much must need never new next no not now off old one only other out over
own part people place put really right said same say see show since something start still take talk tell thing think
thought through time today together told try two under up use very want way week well went while without work world year
yes yet able again against always another around away between during few happen high hope hear kid great happy friend
family start share nice sure thank thanks wow yeah hey hi cool awesome amazing
""",
    2.2: """
account add ago agree almost already although among anything area ask bad become began begin believe body book bring
business buy car care case change child children city class clear close company course cut decide describe different
discuss done door early easy eat else end enjoy enough event everyone everything example experience eye face fact far
father favorite favourite fun feeling finally fine food forward free full fun game girl group grow guy half hand hard
head heart hold hour house idea important interest interesting job join kind late later learn leave left less letter
line list listen lose mind minute moment money month morning mother move movie music name near night nothing number
often open order others outside paper parent perhaps person photo picture plan play point power pretty problem question
quite reach read ready real reason receive remember result room run school second seem send set several side sit small
someone sometimes soon sound special spend stand state stay stop story student study suggest support supposed
system team
though three tomorrow tonight top toward town travel trip true turn type understand until visit wait walk watch water
weekend white whole wife win within wonder word write wrong yesterday young recently currently usually especially
according various certain main major recent past future
""",
    2.8: """
accept across act action activity actually advice afternoon age air allow alone appear apply appreciate approach art
attend attention available baby base beach beautiful beauty bed beginning behind benefit beyond birthday bit black blue
board born box boy break brother build building busy calm camera card career carry catch cause celebrate center centre
chance character check choice choose club coffee cold collect college color colour comfort common community compare
complete computer concern connect connection consider contact contain continue control conversation cook cost country
couple cover create creative crazy culture current customer daily dance dark data date daughter deal death deep
definitely design detail develop development die difference difficult dinner direct discover dog doubt draw dream dress
drink drive
drop earn education effect effort either encourage energy entire environment especially evening exactly excited exciting
expect explain explore express fall fan fast fear field fight figure fill film final find finish fire fit five floor
focus follow force foot forget form found four friendly front garden general gift girl glad goal gonna ground guess
hair happiness hate health heavy hello herself himself history hit hobby holiday honest hot huge human hundred husband
image imagine improve include increase individual information inside inspire instead intend issue item itself journey
kill kitchen knew lack land language large laugh law lead least level lie light likely local location low luck lunch
machine maintain manage market marry match matter maybe meal meaning meet meeting member memory mention message million
miss model mom mood motivate myself natural nature nearly necessary negative nervous normal note notice object obviously
offer office online opinion opportunity option original ourselves overall page paint park particular partner party pass
passion path pay peace perfect perform period personal pet phone physical pick piece planning pleasure plus popular
position positive possible practice prefer prepare present press pressure price private probably process produce product
program project proud provide public purchase purpose push quality quick quiet rather realize relate relationship relax
release remain remind require research resource respond response rest return ride rise road role rule safe sad sale save
scene season secret seek sell sense serious serve service shape share shop short similar simple single sister situation
six size skill skin sleep smile social society son song sort space speak specific sport spring stage star step store
strange street stress strong stuff style subject success successful suddenly summer sun surprise surround table task
taste teach teacher term test themselves third thousand throw thus till tired topic total totally touch tough
traditional train treat tree trouble trust truth twenty unique unit upon usual value variety view voice war warm wear
weather website week weight wish woman women wonderful worry worth yourself attempt aspect feature gain
participate significant specifically typically regularly additional following
""",
}
GLUE = frozenset(findall(r"\w+", _GLUE))


@lru_cache(1)
def _listed() -> list[tuple[float, str]]:
    return [(worth, word) for worth, words in _BANDS.items() for word in findall(r"\w+", words)]


@lru_cache(4096)
def worth(term: str) -> float:
    """How much a term says by itself, from 1.7 for the commonest words to FULL."""
    begin = term[:2]  # an ending is all that a stem lacks: to stem every listed word takes longer than a search
    return next((worth for worth, word in _listed() if word[:2] == begin and stem(word) == term), FULL)
