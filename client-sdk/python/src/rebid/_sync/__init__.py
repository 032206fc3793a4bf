# Derived from _async/__init__.py by `npm run sdk`.

