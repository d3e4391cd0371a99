"""What each study measures: its definitions, in one place."""
