"""Words that ask for nothing: function words, and what people say to make an agent go on."""

from __future__ import annotations

from typing import Final

_FUNCTION: Final = """
a about above after again against all also am an and any are aren as at be because been before being below between both
but by can cannot could couldn did didn do does doesn doing don done down during each etc even ever every few for from
further get gets getting give given go goes going got had hadn has hasn have haven having he her here hers herself him
himself his how however i if in into is isn it its itself just let like ll made make makes many may maybe me might more
most much must my myself need needs no nor not now of off on once one only onto or other our ours ourselves out over own
per put quite rather re really said same say says she should shouldn so some something still such tell than that the
their theirs them themselves then there these they thing things this those though through thus to too under until up
upon us use used using ve very via want wants was wasn way we well were weren what whatever when where whether which
while who whom whose why will with within without won would wouldn yes yet you your yours yourself yourselves
"""
_FILLER: Final = """
agree agreed alright appreciate awesome bye confirm continue continuing cool correct exactly excellent fine good great
greetings hello hey hi hmm hope keep kindly lets looks lovely nice nope ok okay perfect please pls proceed ready right
sounds sorry sure thank thanks thx understood wonderful yeah yep yup
"""
_GERMAN: Final = """
aber als auch auf aus bei bin bis bitte danke das dass dem den der des die du ein eine einen einer er es für gut hat ich
im ist ja kann mit nein nicht noch nur oder sich sie sind soll über um und uns von war was weiter wenn wie wir zu zum
"""
_FRENCH: Final = """
au aux avec bien bonjour ce ces cette comme dans de elle en est et il je la le les leur lui mais merci mon ne non nous
ou oui par pas plus pour qu que qui sa se ses si son sont sur un une vous
"""
_SPANISH: Final = """
al como con cuando del el ella ellos entre era eso esta este esto favor gracias hay hola las lo los más mi muy nos para
pero por porque qué sí sin sobre su sus también te tiene todo tu una uno vale ya
"""
STOPWORDS: Final = frozenset(f"{_FUNCTION} {_FILLER} {_GERMAN} {_FRENCH} {_SPANISH}".split())

_CHINESE: Final = """
继续 繼續 好的 谢谢 謝謝 可以 是的 没问题 沒問題 请问 请你 什么 什麼 怎么 怎麼 这个 這個 那个 那個 哪个 我们 你们 他们
"""
_JAPANESE: Final = """
続けて ください お願いします お願い ありがとうございます ありがとう はい いいえ です ました ます でした します しました
どこ どの どれ なに それ これ あれ
"""
_KOREAN: Final = """
계속 해주세요 해줘 감사합니다 고마워 아니요 좋아요 좋아 주세요 입니다 습니다 무엇 어디
"""
CJK_STOPS: Final = frozenset(f"{_CHINESE} {_JAPANESE} {_KOREAN}".split())
# Words of one character ask for nothing by themselves, but stand inside others that do.
CJK_SINGLE_STOPS: Final = frozenset("好是对對嗯请請何네예")
