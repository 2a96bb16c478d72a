"""Counting without a tokenizer: close in every script."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from foveate.budget import EstimatingCounter, SplintrCounter

EXACT = SplintrCounter()
ESTIMATE = EstimatingCounter()

ENGLISH = (
    "The harbour was quiet that morning. Two fishermen mended their nets while a dog slept on the"
    " warm stones beside them. When the ferry finally arrived, only three passengers stepped off:"
    " a teacher with a heavy suitcase, a boy who had lost his cap, and an engineer from the city"
    " who wanted to know why the lighthouse had been dark for almost a week. Nobody could tell her,"
    " although everybody had an opinion, and most of them were happy to share it at length."
)

CODE = '''
class LruCache:
    """Keep the most recently used entries."""

    def __init__(self, capacity: int = 128) -> None:
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        self._capacity = capacity

    def get(self, key: str, default: bytes | None = None) -> bytes | None:
        if key not in self._entries:
            return default
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key: str, value: bytes) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self._capacity:
            oldest, _ = self._entries.popitem(last=False)
            logger.debug("evicted %s after %d entries", oldest, len(self._entries))
'''

JSON = json.dumps(
    [
        {
            "orderId": 48_213 + 7 * number,
            "customer": {"firstName": "Maria", "lastName": "Lindqvist", "isActive": True},
            "items": [{"sku": f"AB-{number:04}", "quantity": number % 5, "unitPrice": 19.95}],
            "shipped_at": f"2024-06-{1 + number % 28:02}T08:15:00Z",
        }
        for number in range(30)
    ],
    indent=2,
)

CHINESE = (
    "昨天下午，工程师们在会议室里讨论了新版本的发布计划。大家一致认为，应当先修复登录页面的错误，"
    "再优化数据库查询的速度。测试团队提供了一份详细的报告，列出了十二个需要解决的问题，其中三个比较严重。"
    "负责人要求所有成员在星期五之前提交代码，并且更新相关的文档。如果时间不够，可以把次要的功能推迟到下个月。"
    "晚上我们一起去附近的餐馆吃了火锅，聊了很多关于旅行和音乐的话题。"
)

JAPANESE = (
    "先週末、友人と一緒に山の近くにある小さな温泉へ行きました。朝は雨が降っていましたが、昼過ぎには晴れて、"
    "きれいな景色を楽しむことができました。このプログラムを実行する前に、必要なライブラリをインストールし、"
    "設定ファイルの内容を確認してください。処理が終わると、結果が画面に表示されます。"
)

KOREAN = (
    "지난 주말에 친구들과 함께 산 근처에 있는 작은 마을에 다녀왔습니다. 아침에는 비가 내렸지만 점심때부터"
    " 날씨가 맑아져서 아름다운 풍경을 볼 수 있었습니다. 이 프로그램을 실행하기 전에 필요한 라이브러리를"
    " 설치하고 설정 파일의 내용을 확인하십시오. 작업이 끝나면 결과가 화면에 표시됩니다."
)

RUSSIAN = (
    "В прошлые выходные мы с друзьями ездили в небольшой посёлок у подножия гор. Утром шёл дождь, но к"
    " обеду погода наладилась, и мы смогли полюбоваться прекрасным видом. Перед запуском программы"
    " установите необходимые библиотеки и проверьте содержимое файла настроек. Когда обработка"
    " завершится, результат появится на экране."
)

ARABIC = (
    "ذهبنا في عطلة نهاية الأسبوع الماضي مع الأصدقاء إلى قرية صغيرة قرب الجبال. كان المطر ينزل في الصباح"
    " ولكن الجو أصبح جميلا بعد الظهر واستمتعنا بالمناظر الطبيعية. قبل تشغيل البرنامج يرجى تثبيت المكتبات"
    " المطلوبة والتحقق من محتوى ملف الإعدادات. عند انتهاء المعالجة تظهر النتيجة على الشاشة."
)

HINDI = (
    "पिछले सप्ताह हम अपने दोस्तों के साथ पहाड़ों के पास एक छोटे से गाँव में गए थे। सुबह बारिश हो रही थी,"
    " लेकिन दोपहर के बाद मौसम साफ़ हो गया। प्रोग्राम चलाने से पहले आवश्यक लाइब्रेरी स्थापित करें।"
)

GERMAN = (
    "Am vergangenen Wochenende fuhren wir mit Freunden in ein kleines Dorf am Fuß der Berge. Morgens"
    " regnete es, doch gegen Mittag klarte der Himmel auf, und wir genossen die schöne Aussicht."
    " Überprüfen Sie bitte vor dem Start die Einstellungen und installieren Sie die Bibliotheken."
)

EMOJI = "😀🎈 Party at 8? 🍰🎵 yes! 🙌 bring snacks 🥨🍫 👋😎 see you 🌙✨ 🐶🐱🐼 🚗💨 ⏰ 📅 ✅ ❌ 🔒 💡 🤖🧠"

LOG = "\n".join(
    f"2024-05-{1 + line % 28:02}T14:{line % 60:02}:07Z WARN db.pool - retry {line} of 50 for host"
    f" 10.0.{line}.17:5432 after {13 * line} ms (id {hashlib.sha256(bytes([line])).hexdigest()[:12]})"
    for line in range(50)
)

BASE64 = base64.b64encode(b"".join(hashlib.sha256(bytes([each])).digest() for each in range(200))).decode()

SAMPLES = {
    "english": ENGLISH,
    "code": CODE,
    "json": JSON,
    "chinese": CHINESE,
    "japanese": JAPANESE,
    "korean": KOREAN,
    "russian": RUSSIAN,
    "arabic": ARABIC,
    "hindi": HINDI,
    "german": GERMAN,
    "emoji": EMOJI,
    "log": LOG,
    "base64": BASE64,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_estimate_is_close(name: str) -> None:
    """Without a tokenizer the count stays within a factor of 1.35, in every script."""
    exact = EXACT.count(SAMPLES[name])

    assert exact / 1.35 <= ESTIMATE.count(SAMPLES[name]) <= exact * 1.35


def test_chinese_is_not_counted_like_english() -> None:
    """Four characters per token, right for English, would count Chinese three times too low."""
    assert ESTIMATE.count(CHINESE) > 2.5 * len(CHINESE) / 4
