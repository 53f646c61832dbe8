"""Makes the database of a project with django-allauth: its own migrations, its own hashers.  people.py URL

Of each hasher that Django has by default there is a person whose password is `lètmein`, with an address at example.com named
after the hasher. Person 1 has a proven address and two identities besides, person 2 is inactive and has no password.
"""

import sys

import django
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

HASHERS = ("PBKDF2", "PBKDF2SHA1", "Argon2", "BCryptSHA256", "Scrypt")

connection = conninfo_to_dict(sys.argv[1])
settings.configure(
    SECRET_KEY="of no use here",
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages", "django.contrib.sites", "allauth",
        "allauth.account", "allauth.socialaccount",
    ],
    MIDDLEWARE=["allauth.account.middleware.AccountMiddleware"],
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": connection["dbname"], "USER": connection.get("user", ""),
        "HOST": connection.get("host", ""), "PORT": connection.get("port", ""),
    }},
    PASSWORD_HASHERS=[f"django.contrib.auth.hashers.{name}PasswordHasher" for name in HASHERS],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", SITE_ID=1)
django.setup()

from allauth.account.models import EmailAddress  # noqa: E402  (Django has to be set up before)
from allauth.socialaccount.models import SocialAccount  # noqa: E402
from django.contrib.auth.hashers import get_hashers, make_password  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402

call_command("migrate", verbosity=0)

kim = User.objects.create(username="kim", email="kim@example.com", first_name="Kim", last_name="Example")
kim.set_unusable_password()
kim.save()
EmailAddress.objects.create(user=kim, email="other@example.com", verified=False, primary=False)
EmailAddress.objects.create(user=kim, email="kim@example.com", verified=True, primary=True)
SocialAccount.objects.create(
    user=kim, provider="google", uid="109", extra_data={"sub": "109", "email": "kim@gmail.com", "email_verified": True})
SocialAccount.objects.create(user=kim, provider="siwa", uid="001.kim", extra_data={})
User.objects.create(username="lee", email="lee@example.com", is_active=False, password=make_password(None))
for name, hasher in zip(HASHERS, get_hashers()):
    user = User.objects.create(
        username=name, email=f"{name.lower()}@example.com", password=make_password("lètmein", hasher=hasher))
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
