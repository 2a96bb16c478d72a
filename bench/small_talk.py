"""Small talk: what friends say between the things that matter."""

from __future__ import annotations

from typing import Final

OPENERS: Final = (
    "Hey {other}, how are you?",
    "Hi {other}! Long time no see.",
    "Good morning {other}, did you sleep well?",
    "{other}! I was just thinking of you.",
    "Hello {other}, do you have a minute?",
    "Hey, are you still up?",
)
REACTIONS: Final = (
    "Oh wow, I did not expect that.",
    "Ha, that is so like you.",
    "That sounds lovely, honestly.",
    "Oh no, poor you!",
    "I am glad you told me.",
    "Really? Since when?",
    "That must have been something.",
    "I can picture it so well.",
    "Good for you, {other}.",
    "You always have the best stories.",
    "Hm, I am not sure what to say to that.",
    "Amazing!",
)
SUBJECTS: Final = (
    "The meeting on the budget",
    "My physiotherapist",
    "The bakery on the corner",
    "The heating in the office",
    "A colleague from accounting",
    "The choir",
    "The landlord",
    "The new tram line",
    "My podcast about bridges",
    "The library",
    "That series with the detective",
    "The weather here",
    "My cousin's band",
    "The allotment",
    "The dentist",
    "The school play",
    "The neighbour's dog",
    "My mother's car",
    "The band next door",
    "The swimming pool",
)
HAPPENINGS: Final = (
    "was a disaster from start to finish",
    "is better than anybody thought",
    "has changed completely since the summer",
    "will be closed until further notice",
    "made me laugh out loud",
    "takes up all of my evenings",
    "is the only thing that keeps me sane",
    "costs twice as much as last year",
    "got into the local paper",
    "needs a fresh coat of paint",
    "is run by two brothers from Lisbon now",
    "was the talk of the party",
    "has moved to the other side of the river",
    "reminds me of when we were students",
)
AFTERTHOUGHTS: Final = (
    "Anyway, I should not complain.",
    "We will see how that goes.",
    "Remind me to show you the pictures.",
    "It cost me a whole Saturday.",
    "I had to sit down for a moment.",
    "You would have loved it.",
    "Nobody in the family agrees with me, of course.",
    "I blame the moon.",
    "Then it rained, naturally.",
    "I am thinking of writing a letter about it.",
    "My phone is at three per cent, by the way.",
    "More next week.",
)
GOODBYES: Final = (
    "I have to run, talk soon!",
    "Off to bed, good night.",
    "My train is coming, bye!",
    "Take care, {other}.",
)
