"""Words of everyday English that say about the same, and what is of a kind: `kids` for `children`, `puppy` for `pet`.

A person asks for the pet and the job; the memory tells of a puppy and of the clinic. Listed by hand.
Forms that the stemmer makes one need no place here; words of many senses are left out: they stand for everything.
"""

from collections.abc import Iterable
from functools import lru_cache

from bonsai.notes.stem import stem

#: Each line: words of which every one may stand for the others.
_SAME = """
child children kid kids son daughter toddler baby
mother mom mum mama parent
father dad daddy papa parent
parents mom dad mother father folks
grandmother grandma granny grandparent
grandfather grandpa grandparent
wife husband spouse partner married marriage wedding
girlfriend boyfriend partner dating
fiance fiancee engaged engagement
brother sister sibling
friend buddy pal mate
relative cousin aunt uncle niece nephew
born birth birthday
died die dead death funeral
pregnant pregnancy
divorce divorced separated
job work career profession occupation employed position role
boss manager supervisor
colleague coworker teammate
company firm business employer startup
client customer
salary pay wage income raise
hire hired recruit employ
fired quit resign resigned unemployed
meeting call appointment
deadline due
office workplace desk
money cash finances financial budget
debt loan mortgage credit
tax taxes irs accountant
invoice bill billing payment
rent lease landlord
insurance policy premium
buy bought purchase purchased got acquire
sell sold sale
cost price expensive cheap paid fee
subscription plan tier
car automobile vehicle truck van
bike bicycle cycling biking
plane flight airplane flew fly
train rail railway
trip travel journey vacation holiday getaway tour
visit visited went trip
hotel airbnb hostel accommodation lodging
luggage suitcase bag
passport visa
move moved relocate relocated relocation
house home apartment flat condo
live living reside
address street
country nation homeland
abroad overseas foreign
city town village
movie film cinema
series episode tv television
book novel read reading
author writer wrote written
song music track tune
singer musician band artist
picture photo photograph image pic snapshot
painting painted paint painter art artwork
drawing draw drew sketch
art artwork painting sculpture drawing
game gaming video
class course lesson workshop training
school college university education study degree
teacher instructor professor coach mentor
student pupil learner
study learn learned learning
graduate graduated graduation diploma
exam test quiz
research thesis paper
start started begin began begun launch launched opened
finish finished end ended complete completed
plan planned planning intend
want wanted wish hope desire
decide decided choose chose chosen decision choice
favorite favourite prefer preferred love loves best
like enjoy enjoys love fond
dislike hate annoy annoying
happy glad joy excited thrilled proud
sad upset unhappy depressed
afraid scared fear worried nervous anxious anxiety
angry mad frustrated annoyed upset
stress stressed stressful overwhelmed pressure
relax relaxing unwind calm calming peaceful
sick ill illness disease unwell
health healthy fitness wellbeing
hurt injury injured accident pain
doctor physician clinic hospital nurse
dentist tooth teeth
therapy therapist counseling counsellor
medicine medication drug pill prescription
allergy allergic intolerance intolerant
sleep slept bed nap insomnia
exercise workout gym fitness training
diet nutrition eating food vegetarian vegan
tired exhausted fatigue
meal dinner lunch breakfast food dish
cook cooked cooking recipe bake baked baking
tasty delicious yummy flavor
drink beverage coffee tea wine beer
win won winning victory
award prize trophy medal
lose lost loss losing
compete competition contest tournament championship
match game play
team squad club
help helped support supported assist aid
advice tip suggestion suggest recommend recommendation
teach taught teaching
meet met
talk talked discuss discussed chat conversation speak spoke
call called phone
tell told said mention mentioned
email mail message
reply answer respond response
gift present
party celebration celebrate celebrated
event festival fair conference concert
volunteer volunteered donate donated charity
nonprofit charity fundraiser donation
organize organized arrange host hosted
join joined attend attended participate participated
make made create created build built craft
fix fixed repair repaired
broke broken damaged damage
old age aged birthday
young youth teen teenager
big large huge
small little tiny
fast quick quickly speed slow
often usually regularly frequently weekly daily
collect collection collecting
nature outdoors outdoor outside
forest woods trees
ocean sea beach coast shore
mountain hill peak trail
hike hiked hiking trail trek
camp camping campfire tent campsite
swim swam swimming pool
run ran running race marathon jog
plant garden gardening flower
weather rain storm sunny snow
computer laptop pc
coding programming developer software code
internet online website web
post posted share shared
phone cell mobile smartphone
problem issue trouble challenge difficulty obstacle
goal aim dream ambition
reason because cause motivated motivation inspired
change changed transition
idea concept thought
belief faith religion religious church spiritual
mean meaning symbol represent reminder
memory remember remind reminder
adopt adopted adoption
immigrant immigrated moved abroad
military army veteran
police crime stolen theft
law legal lawyer attorney court
vote election politics political campaign
neighborhood neighbour neighbor community
clothes clothing outfit dress shirt wear
shoes sneakers boots
jewelry necklace ring bracelet
store shop shopping market
restaurant cafe diner
furniture couch sofa table chair
kitchen fridge oven stove
language speak fluent
error bug crash failure fault exception
deploy deployment release rollout
server host machine
database db postgres mysql sqlite
delete remove erase
repository repo git
config configuration
password credential secret token
login auth authentication sso
test testing pytest ci
docs documentation readme
frontend ui interface
backend api service
outage incident downtime
backup restore snapshot
upgrade update version
release version
wifi wireless wlan
goal target
accountant accounting bookkeeping bookkeeper
chef cook cooks
kanban board
timezone timezones utc
"""

#: Each line: what somebody asks for, and what may then stand in the memory.
_KINDS = """
pet: dog cat puppy kitten hamster rabbit fish turtle parrot bird
animal: dog cat horse bird rabbit turtle fish cow bear lion puppy kitten
hobby activity pastime interest: painting pottery hiking camping swimming running reading cooking baking gardening
hobby activity pastime interest: photography knitting chess gaming yoga guitar piano fishing cycling drawing writing
hobby activity pastime interest: dancing surfing
exercise: yoga running swimming cycling gym hiking walking boxing
sport: basketball soccer football tennis baseball hockey golf volleyball swimming running surfing skiing boxing cricket
instrument: guitar piano violin drums clarinet flute saxophone cello trumpet
music: song band concert album guitar piano jazz rock classical
art: painting sculpture pottery drawing sketch canvas mural ceramic
food snack dish: pizza pasta salad soup cake cookie chocolate chicken rice sushi sandwich bread pie curry taco steak
food snack: fruit
dessert: cake cookie pie chocolate pastry
drink: coffee tea wine beer juice soda water smoothie
vehicle: car truck bike motorcycle bus van
country: england france germany spain italy sweden norway japan china india canada mexico brazil australia ireland
country: greece
city: london paris berlin tokyo boston chicago seattle toronto rome barcelona sydney amsterdam stockholm madrid
place location: park beach museum restaurant cafe lake mountain city library gallery
job career: teacher nurse doctor engineer lawyer writer designer developer manager mechanic artist
emotion feeling feel: happy sad proud grateful nervous excited scared relieved anxious
family relative: husband wife children parents mother father brother sister cousin aunt uncle grandma grandpa
event: concert parade festival conference workshop race party wedding meeting
device gadget: phone laptop tablet computer camera headphones
symptom illness: pain fever cough headache asthma flu
allergy allergic: peanut nuts dairy lactose gluten pollen dust shellfish
season: spring summer autumn fall winter
color colour: red blue green yellow purple orange black white pink
clothing: shirt dress shoes jacket hat jeans coat
subject: psychology biology history engineering art law medicine business
relationship: single married divorced dating engaged
religion: christian church god prayer buddhist muslim jewish
flower: rose sunflower tulip lily daisy
language: spanish french german english italian chinese japanese python rust typescript javascript java
framework: react django flask rails vue spring
database: postgres mysql sqlite redis mongodb
cloud: aws azure gcp kubernetes
editor: vim emacs vscode
"""


@lru_cache(1)
def _table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for row in _SAME.strip().splitlines():
        words = {stem(word) for word in row.split()}
        for word in words:
            table.setdefault(word, set()).update(words)
    for row in _KINDS.strip().splitlines():
        heads, _, members = row.partition(":")
        for head in heads.split():
            table.setdefault(stem(head), set()).update(map(stem, members.split()))
    return {word: frozenset(others - {word}) for word, others in table.items()}


def stand_ins(terms: Iterable[str]) -> dict[str, list[str]]:
    """Term of a text → the terms of a query that it may stand for. All of them are stems."""
    table, found = _table(), dict[str, list[str]]()
    for term in terms:
        for other in sorted(table.get(term, ())):
            found.setdefault(other, []).append(term)
    return found
