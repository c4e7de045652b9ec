"""`python -m bonsai`."""

from bonsai.cli.main import main

if __name__ == "__main__":
    main()
