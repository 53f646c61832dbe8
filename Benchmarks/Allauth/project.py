"""A Django project with django-allauth's headless API for apps and Google's tokens: the application for a WSGI server. As a
command it makes the tables, and accounts with an identity of Google's and a verified address.  project.py SUBJECT COUNT

The environment has the URL of the database in ALLAUTH_DATABASE, that of Google's certificates in ALLAUTH_CERTIFICATES, and
ALLAUTH_SECRET_KEY. With ALLAUTH_CACHES_KEYS a process fetches each of Google's keys once, and not for each token.
"""

import os
import sys

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from psycopg.conninfo import conninfo_to_dict

connection = conninfo_to_dict(os.environ["ALLAUTH_DATABASE"])
settings.configure(
    SECRET_KEY=os.environ["ALLAUTH_SECRET_KEY"],
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    # No more than allauth needs.
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "allauth", "allauth.account",
        "allauth.socialaccount", "allauth.socialaccount.providers.google", "allauth.headless",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
        "allauth.account.middleware.AccountMiddleware",
    ],
    AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": connection["dbname"], "USER": connection["user"],
        "HOST": connection["host"], "CONN_MAX_AGE": None,
    }},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    LOGGING={
        "version": 1, "disable_existing_loggers": False, "handlers": {"console": {"class": "logging.StreamHandler"}},
        "root": {"handlers": ["console"], "level": "WARNING"},
    },
    HEADLESS_ONLY=True,
    HEADLESS_CLIENTS=["app"],
    ACCOUNT_RATE_LIMITS=False,
    SOCIALACCOUNT_PROVIDERS={"google": {
        "APPS": [{"client_id": "lamp-web.apps.googleusercontent.com", "secret": ""}],
        "CERTS_URL": os.environ["ALLAUTH_CERTIFICATES"],
    }})
application = get_wsgi_application()

import jwt  # noqa: E402  (Django has to be set up before)
from allauth.account.models import EmailAddress  # noqa: E402
from allauth.socialaccount.internal import jwtkit  # noqa: E402
from allauth.socialaccount.models import SocialAccount  # noqa: E402
from django.contrib.auth.hashers import make_password  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.urls import include, path  # noqa: E402

urlpatterns = [path("_allauth/", include("allauth.headless.urls"))]


def cache_keys(fetch):
    found = {}

    def fetch_key(credential, keys_url, lookup):
        kid = jwt.get_unverified_header(credential)["kid"]
        if kid not in found:
            found[kid] = fetch(credential, keys_url, lookup)
        return found[kid]

    return fetch_key


def make_people(subjects):
    """What a sign-up by each person's token makes, except for the user's name."""
    users = User.objects.bulk_create(
        User(username=f"person{subject}", email=f"person{subject}@example.com", first_name="Kim", password=make_password(None))
        for subject in subjects)
    EmailAddress.objects.bulk_create(
        EmailAddress(user=user, email=user.email, verified=True, primary=True) for user in users)
    SocialAccount.objects.bulk_create(
        SocialAccount(user=user, provider="google", uid=str(subject)) for user, subject in zip(users, subjects))


if "ALLAUTH_CACHES_KEYS" in os.environ:
    jwtkit.fetch_key = cache_keys(jwtkit.fetch_key)
if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    make_people(range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])))
