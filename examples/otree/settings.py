"""An oTree project with one app; `PRECEPTOR_URL` says where the service is."""

from os import environ

SESSION_CONFIGS = [
    {
        "name": "training",
        "app_sequence": ["training"],
        "num_demo_participants": 2,
        "service": environ.get("PRECEPTOR_URL", "http://127.0.0.1:8000"),
        "cases": environ.get("PRECEPTOR_CASES", "otree"),
    }
]
SESSION_CONFIG_DEFAULTS = {"real_world_currency_per_point": 1.0, "participation_fee": 0.0}
PARTICIPANT_FIELDS = []
SESSION_FIELDS = []
LANGUAGE_CODE = "en"
REAL_WORLD_CURRENCY_CODE = "EUR"
USE_POINTS = True
ADMIN_USERNAME = "admin"
ADMIN_PASSWORD = environ.get("OTREE_ADMIN_PASSWORD")
SECRET_KEY = environ.get("OTREE_SECRET_KEY", "only for trying it out")
