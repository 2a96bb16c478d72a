"""Un domaine viticole : a user who writes French, labels with a lot number, and rules of a control body."""

from __future__ import annotations

from bench.continuing.recorder import Recorder
from bench.continuing.scenario import Scenario, kept, said, shown
from bench.continuing.vocabulary import Vocabulary

_CUVEES = '''"""Cuvées."""


def degree(cuvee):
    """Degré d'alcool."""
    return CUVEES[cuvee][1]


CUVEES = {"Les Aulnes": (2029, 12.87), "Clos Vieux": (2030, 13.12), "La Source": (2030, 11.94)}
'''
_CUVEES_NOW = '''"""Cuvées."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cuvee:
    """Une cuvée ; le degré est en centièmes."""

    name: str
    vintage: int
    hundredths: int


CUVEES = {
    one.name: one
    for one in (Cuvee("Les Aulnes", 2029, 1287), Cuvee("Clos Vieux", 2030, 1312), Cuvee("La Source", 2030, 1194))
}
'''


def _tell(session: Recorder) -> None:
    session.user(
        "Bonjour ! Vous reprenez les petits programmes du domaine, dans cave_a_vin/. Regardez d'abord cuvees.py."
    )
    session.read("cave_a_vin/cuvees.py")
    session.answer("Les cuvées ont un millésime et un degré ; `degree` donne le degré.")
    session.fill(to=3_500)
    session.user("Faites-en une vraie classe, et le degré en centièmes, comme entier.")
    session.write("cave_a_vin/cuvees.py", _CUVEES_NOW)
    session.answer("C'est fait : `Cuvee` avec `name`, `vintage` et `hundredths`.")
    session.fill(to=8_000)
    session.user("""
        Un peu de contexte, parce que l'étiquette viendra à la fin. Mon père imprimait tout à la main, nous avons encore la
        presse. Le degré sur l'étiquette est arrondi au demi-degré INFÉRIEUR, c'est la tolérance que nous choisissons, et il
        s'écrit avec une virgule et « % vol » derrière. Les chevaux vont bien. Le mot « réserve » est interdit chez nous depuis
        le procès avec le voisin, il ne doit paraître nulle part, même dans un commentaire. Et l'étiquette arrière s'appelle
        chez nous le « dos », donc `back` est mal choisi dans le code : écrivez `dos`. Voilà pour l'étiquette. Demain on taille.
    """)
    session.answer(
        "Je retiens le demi-degré inférieur avec la virgule, le mot interdit, et `dos` pour l'étiquette arrière."
    )
    session.fill(to=13_000)
    session.user("L'imprimeur a un contrôle automatique, envoyez-lui un essai pour voir.")
    session.run(
        "curl -s -F fichier=@essai.txt https://imprimeur.example/controle",
        """
        essai.txt : refusé
        - ligne 2 : 44 signes, maximum 32
        - numéro de lot : forme attendue L + jour de l'année sur 3 chiffres + deux derniers chiffres du millésime
        - allergènes : mention « Contient des sulfites » absente
    """,
        22,
    )
    session.answer("L'essai est refusé pour trois raisons, que le contrôle explique.")
    session.fill(to=18_000)
    session.user("Quel est notre numéro d'embouteilleur ? Il doit être sur le site de l'organisme.")
    session.run(
        "curl -s 'https://organisme.example/recherche?nom=domaine+des+aulnes'",
        """
        Domaine des Aulnes (négoce)        EMB 37208 C   radié 2024
        Domaine des Aulnes (récoltant)     EMB 37208 F   actif
        Domaine de l'Aulne                 EMB 37211 A   actif
    """,
    )
    session.answer("Trois entrées, dont une radiée ; la nôtre est celle du récoltant.")
    session.user("""
        J'avais essayé de couper les lignes trop longues avec des points de suspension, les cavistes ont cru à une erreur. Donc
        pas de coupe : une ligne trop longue est refusée avec ValueError, et c'est moi qui la raccourcis. À la toute fin, quand
        l'étiquette marche, écrivez « étiquettes : oui » dans ETAT.txt. Pas avant.
    """)
    session.answer("Entendu : ValueError, pas de coupe, et ETAT.txt à la fin.")
    session.fill(to=44_000)


_MODULE = "cave_a_vin/labels.py"
_SOLUTION = '''"""Étiquettes."""

from __future__ import annotations

from datetime import date

from cave_a_vin.cuvees import CUVEES

LONGEST = 32
BOTTLER = "EMB 37208 F"


def lot(cuvee: str, bottled: date) -> str:
    """Le numéro de lot."""
    return f"L{bottled.timetuple().tm_yday:03}{CUVEES[cuvee].vintage % 100:02}"


def degree(cuvee: str) -> str:
    """Le degré, au demi-degré inférieur."""
    whole, half = divmod(CUVEES[cuvee].hundredths // 50, 2)
    return f"{whole},{5 * half} % vol"


def front(cuvee: str) -> list[str]:
    """L'étiquette de devant."""
    return checked([cuvee, str(CUVEES[cuvee].vintage), degree(cuvee)])


def dos(cuvee: str, bottled: date, text: str = "") -> list[str]:
    """L'étiquette de l'autre côté."""
    return checked([lot(cuvee, bottled), BOTTLER, "Contient des sulfites", *([text] if text else [])])


def checked(lines: list[str]) -> list[str]:
    """Les lignes, si aucune n'est trop longue."""
    for line in lines:
        if len(line) > LONGEST:
            raise ValueError(f"{len(line)} signes, maximum {LONGEST} : {line}")
    return lines
'''
_TRY = "from datetime import date\nimport cave_a_vin.labels as l\n"

SCENARIO = Scenario(
    name="vineyard-labels",
    about=__doc__ or "",
    style="openhands",
    system="Vous aidez un domaine viticole avec ses programmes.",
    vocabulary=Vocabulary(
        package="cave_a_vin",
        things=("barrel", "parcel", "harvest", "press", "cork"),
        measures=("liters", "hectares", "sugar", "acidity", "crates"),
        labels=("slope", "grape", "cooper", "cellar", "row"),
        names=("Aulnes", "Clos", "Source", "Chenin", "Cabernet", "Loire", "Touraine", "Pineau", "Vouvray", "Azay"),
    ),
    files={"cave_a_vin/cuvees.py": _CUVEES, "ETAT.txt": "étiquettes : non\n"},
    tell=_tell,
    follow_up="""
        Maintenant l'étiquette : cave_a_vin/labels.py. `front(cuvee)` rend trois lignes : le nom, le millésime, le degré comme
        nous l'écrivons. L'autre étiquette est une fonction qui porte le nom que nous lui donnons, avec les paramètres
        `(cuvee, bottled, text="")` : rend le numéro de lot (bottled est la date de mise en bouteille), notre numéro
        d'embouteilleur, la mention que le contrôle réclame, et le texte s'il n'est pas vide. Tout doit passer le contrôle de
        l'imprimeur. Avec cela, l'étiquette marche.
    """,
    checks=(
        said(
            "rule",
            "the degree goes down to the half",
            "demi-degré INFÉRIEUR",
            "% vol",
            code=f"{_TRY}assert [l.front(c)[2] for c in ('Les Aulnes', 'Clos Vieux', 'La Source')] == ['12,5 % vol', '13,0 % vol', '11,5 % vol']",
            mistake=(_MODULE, "CUVEES[cuvee].hundredths // 50", "round(CUVEES[cuvee].hundredths / 50)"),
        ),
        said(
            "rule",
            "the forbidden word appears nowhere",
            "Le mot « réserve » est interdit",
            code="text = read('cave_a_vin/labels.py').lower()\nassert 'def front' in text and 'réserve' not in text and 'reserve' not in text",
            mistake=(_MODULE, "Étiquettes.", "Étiquettes, réserve comprise."),
        ),
        said(
            "name",
            "the other label is the dos",
            "écrivez `dos`",
            code=f"{_TRY}assert len(l.dos('La Source', date(2031, 2, 1))) == 3 and 'back' not in read('cave_a_vin/labels.py').lower()",
            mistake=(_MODULE, "L'étiquette de l'autre côté", "Back label"),
        ),
        said(
            "failed approach",
            "long lines are refused, not cut",
            "est refusée avec ValueError",
            code=f"{_TRY}try:\n    l.dos('La Source', date(2031, 2, 1), 'x' * 60)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError('accepted')",
            mistake=(_MODULE, "raise ValueError(f", "print(f"),
        ),
        said(
            "wish",
            "the state is told at the end",
            "écrivez « étiquettes : oui » dans ETAT.txt",
            code="assert 'étiquettes : oui' in read('ETAT.txt')",
            mistake=("ETAT.txt", "oui", "non"),
        ),
        shown(
            "value",
            "the lot number has the printer's form",
            "jour de l'année sur 3 chiffres",
            code=f"{_TRY}assert l.dos('La Source', date(2031, 2, 1))[0] == 'L03230'",
            mistake=(_MODULE, "tm_yday:03", "tm_yday"),
        ),
        shown(
            "value",
            "lines are as long as the printer allows",
            "44 signes, maximum 32",
            code=f"{_TRY}assert l.dos('La Source', date(2031, 2, 1), 'x' * 32)[3] == 'x' * 32\n"
            "try:\n    made = l.dos('La Source', date(2031, 2, 1), 'x' * 33)\nexcept ValueError:\n    made = []\nassert all(len(line) <= 32 for line in made)",
            mistake=(_MODULE, "LONGEST = 32", "LONGEST = 40"),
        ),
        shown(
            "value",
            "the bottler is the grower",
            "(récoltant) EMB 37208 F actif",
            code=f"{_TRY}assert l.dos('La Source', date(2031, 2, 1))[1].endswith('EMB 37208 F')",
            mistake=(_MODULE, "EMB 37208 F", "EMB 37208 C"),
        ),
        shown(
            "value",
            "sulfites are named",
            "Contient des sulfites",
            code=f"{_TRY}assert 'Contient des sulfites' in l.dos('La Source', date(2031, 2, 1))",
            mistake=(_MODULE, "Contient des sulfites", "Contient du soufre"),
        ),
        kept(
            "interface",
            "cuvées have hundredths",
            "hundredths: int",
            code=f"{_TRY}import cave_a_vin.cuvees as c\nc.CUVEES['Neuf'] = c.Cuvee('Neuf', 2031, 1000)\nassert l.front('Neuf') == ['Neuf', '2031', '10,0 % vol']",
            mistake=(_MODULE, "divmod(CUVEES[cuvee].hundredths // 50, 2)", "divmod(CUVEES[cuvee].hundredths // 5, 2)"),
        ),
    ),
    reference={_MODULE: _SOLUTION, "ETAT.txt": "étiquettes : oui\n"},
)
