"""Topics of generated talks: what two friends tell each other, and what one may ask about it later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["single-hop", "multi-hop", "temporal", "open-domain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something a person tells, and a question about it that says it partly in other words.

    Args:
        kind: of the question.
        says: what the person says, a turn for each; all of them are the evidence.
        question: asked later; `{who}` is the person.
        values: one for each telling; `{x}` in what is said, the same for all turns that say it.
        lead: what the other one asks right before; then the answer may have no word of the question.

    """

    kind: Kind
    says: tuple[str, ...]
    question: str
    values: tuple[str, ...]
    lead: str = ""


PAIRS: Final = (("Nora", "Emil"), ("Tessa", "Ravi"), ("Ilka", "Joost"), ("Maren", "Paolo"))

_WHENS: Final = ("yesterday", "last Saturday", "two weeks ago", "on Tuesday", "the day before yesterday", "last month")


def _told(question: str, says: str, *values: str) -> Topic:
    return Topic(kind="single-hop", says=(says,), question=question, values=values)


def _answered(question: str, lead: str, says: str, *values: str) -> Topic:
    return Topic(kind="single-hop", says=(says,), question=question, values=values, lead=lead)


def _dated(question: str, says: str) -> Topic:
    return Topic(kind="temporal", says=(says,), question=question, values=_WHENS)


def _listed(question: str, *says: str) -> Topic:
    return Topic(kind="multi-hop", says=says, question=question, values=("",))


def _implied(question: str, *says: str) -> Topic:
    return Topic(kind="open-domain", says=says, question=question, values=("",))


TOPICS: Final = (
    _told(
        "Which instrument is {who} learning to play?",
        "I am learning the {x} now, my fingers hurt after every lesson.",
        "cello",
        "banjo",
        "accordion",
        "harp",
    ),
    _told(
        "What food can {who} not eat?",
        "I can't eat anything with {x} in it, last time I ended up in hospital.",
        "walnuts",
        "almonds",
        "sesame seeds",
        "apricots",
    ),
    _told(
        "What car does {who} drive?",
        "My car broke down on the motorway again, that old {x} will ruin me.",
        "Volvo estate",
        "Fiat Panda",
        "Saab",
        "Lada",
    ),
    _told(
        "What did {who} cook for the shared dinner?",
        "For the dinner with the neighbours I am making {x}, it is my grandmother's recipe.",
        "pierogi",
        "shakshuka",
        "moussaka",
        "fish curry",
    ),
    _told(
        "What does {who}'s brother do for a living?",
        "My brother starts as a {x} on Monday, he is so nervous.",
        "lighthouse keeper",
        "train driver",
        "beekeeper",
        "court clerk",
    ),
    _told(
        "Which novel kept {who} awake at night?",
        "I was awake till two to finish {x}, what an ending.",
        "The Salt Orchard",
        "Nine Doors Down",
        "A Map of Rain",
        "The Quiet Ferry",
    ),
    _told(
        "What is {who} growing at home?",
        "The {x} I am growing on the balcony has flowers at last.",
        "passion flower",
        "lemon tree",
        "jasmine",
        "fig tree",
    ),
    _told(
        "Which colour are the walls in {who}'s corridor?",
        "We painted the walls in the hallway {x} over the weekend, it took four coats.",
        "dark teal",
        "mustard yellow",
        "brick red",
        "pale lilac",
    ),
    _told(
        "Which part of the body did {who} hurt?",
        "I hurt my {x} on the stairs at work, no running for six weeks.",
        "left ankle",
        "right knee",
        "wrist",
        "shoulder",
    ),
    _told(
        "What is {who} studying after work?",
        "I am studying {x} at night school, twice a week until spring.",
        "bookbinding",
        "Portuguese",
        "welding",
        "astronomy",
    ),
    _told(
        "What present did {who}'s mother receive?",
        "My mother got {x} from all of us when she turned sixty.",
        "a telescope",
        "a pottery wheel",
        "a hammock",
        "a sewing machine",
    ),
    _told(
        "What did {who} lose on public transport?",
        "I lost my {x} on the tram and nobody has handed it in.",
        "violin case",
        "green umbrella",
        "camera bag",
        "winter coat",
    ),
    _told(
        "Where does {who} help out without pay?",
        "On Sundays I help at {x}, they are always short of people.",
        "the hedgehog rescue",
        "the soup kitchen",
        "the repair café",
        "the toy library",
    ),
    _told(
        "What is {who} afraid of?",
        "I am really afraid of {x}, I freeze on the spot.",
        "escalators",
        "moths",
        "thunderstorms",
        "diving boards",
    ),
    _told(
        "What is {who} putting money aside for?",
        "I put some money by every month for {x}, a third of it is there.",
        "a canal boat",
        "a wood stove",
        "a cargo bike",
        "a trip to Patagonia",
    ),
    _told(
        "Who lives next door to {who}?",
        "The people next door have moved out, it is {x} now, we met at the bins.",
        "a retired judge",
        "a trombone teacher",
        "a tattoo artist",
        "a glass blower",
    ),
    _told(
        "Which sport did {who}'s daughter take up?",
        "My daughter has joined a {x} club and talks of nothing else.",
        "fencing",
        "judo",
        "curling",
        "archery",
    ),
    _told(
        "What broke in {who}'s kitchen?",
        "The {x} broke in the middle of dinner, smoke everywhere.",
        "dishwasher",
        "toaster",
        "extractor hood",
        "kettle",
    ),
    _told(
        "Who is {who}'s favourite painter?",
        "My favourite is still {x}, I have three prints in the living room.",
        "Vermeer",
        "Münter",
        "Hokusai",
        "Rothko",
    ),
    _told(
        "What does {who} collect?",
        "I found two more {x} for my collection at the flea market.",
        "enamel signs",
        "fountain pens",
        "snow globes",
        "tin robots",
    ),
    _answered(
        "What is the name of {who}'s dog?",
        "So what do you call the dog now?",
        "{x}. The shelter had named her Princess, that had to go.",
        "Biscuit",
        "Pepper",
        "Olga",
        "Waffle",
    ),
    _answered(
        "What is {who}'s boat called?",
        "And the name of the boat, did you decide?",
        "{x}! My niece had the best idea of all.",
        "Second Breakfast",
        "Grey Heron",
        "Maybe Tomorrow",
        "Little Anvil",
    ),
    _answered(
        "How much does {who} pay for the flat each month?",
        "What do you pay for the new flat?",
        "{x}, heating included, can you believe it?",
        "780 euros",
        "1,140 euros",
        "965 euros",
        "1,320 euros",
    ),
    _answered(
        "How many people came to {who}'s wedding?",
        "Was it a big wedding in the end?",
        "{x} guests, counting the band.",
        "Forty-one",
        "Eighty-six",
        "A hundred and twelve",
        "Nineteen",
    ),
    _answered(
        "Who taught {who} to swim?",
        "Who taught you, if you never learned it at school?",
        "No, {x} did, in a gravel pit of all places.",
        "my uncle Henrik",
        "my great-aunt Rosa",
        "a lifeguard called Sam",
        "my cousin Lea",
    ),
    _answered(
        "What did the doctor tell {who} to give up?",
        "What did the doctor say at the check-up?",
        "No more {x} for a while, and walk more.",
        "liquorice",
        "espresso",
        "red meat",
        "late nights",
    ),
    _answered(
        "Which language does {who}'s partner speak at home?",
        "And which language do the two of you talk when nobody listens?",
        "Mostly {x}, with my terrible accent.",
        "Hungarian",
        "Tamil",
        "Catalan",
        "Finnish",
    ),
    _answered(
        "What instrument did {who}'s grandfather build?",
        "What on earth is that instrument above your piano?",
        "A {x}. Grandpa made it in the war, from a door.",
        "zither",
        "mandolin",
        "dulcimer",
        "lute",
    ),
    _dated("When did {who} run a half marathon?", "I ran my first half marathon {x}, two hours and nine minutes."),
    _dated("When did {who} have the job interview?", "The interview with the museum was {x}, I think they liked me."),
    _dated(
        "When did {who}'s basement get flooded?",
        "The cellar was flooded {x}, the boxes with the photos are ruined.",
    ),
    _dated("When did {who} adopt the cat?", "We fetched the cat from the shelter {x}, she sleeps in my shoe."),
    _dated("When did {who} see the eclipse?", "The eclipse was {x}, we stood on the roof with cardboard glasses."),
    _dated("When did {who} quit smoking?", "I threw the last pack of cigarettes away {x}, wish me luck."),
    _dated("When did {who} pass the driving test?", "I got my driving licence {x}, on the fourth attempt."),
    _dated("When did {who} visit the parents?", "I was at Mum and Dad's {x}, they have a new roof."),
    _listed(
        "Which cities has {who} travelled to?",
        "We travelled to Ghent for four days, mostly eating fries in the rain.",
        "Porto is a wonderful city, I walked across that iron bridge every morning.",
        "I am just back from Tallinn, the old walls in the snow are like a film.",
    ),
    _listed(
        "Which kinds of sport has {who} tried?",
        "I tried bouldering, my arms were jelly after ten minutes.",
        "Rowing is a fine sport until the wind comes, we went in circles.",
        "Somebody talked me into badminton, I am still sore.",
    ),
    _listed(
        "What has {who} repaired?",
        "I repaired the old radio, it was only a loose wire.",
        "The garden gate closes again, I put in new hinges.",
        "Next on the list of repairs was the rocking chair, with glue and three clamps.",
    ),
    _listed(
        "Where does {who}'s sister live and work?",
        "My sister Ines has moved to Aarhus for good.",
        "Ines works at last, my sister feeds the seals in the aquarium.",
    ),
    _listed(
        "Which relatives of {who} have been ill?",
        "My aunt is ill, it is her hip, they operate in the autumn.",
        "Dad is in bed with pneumonia, but the fever is going down.",
    ),
    _implied(
        "Would {who} enjoy a weekend in a tent?",
        "I need a proper mattress and a hot shower, or I am no use to anybody.",
    ),
    _implied(
        "Is {who} likely to be in favour of a new cycle path?",
        "I sold the car in March and do everything on two wheels now.",
    ),
    _implied(
        "Would {who} be a good choice as treasurer of a club?",
        "I keep a spreadsheet of every cent that goes out, my friends laugh at me.",
    ),
    _implied(
        "Could {who} give a toast in front of a large crowd?",
        "My voice shakes as soon as more than five people look at me.",
    ),
    _implied(
        "What would be a fitting birthday gift for {who}?",
        "I could spend all day in the kitchen with a good knife.",
        "All my knives are blunt, it is a disgrace.",
    ),
)
