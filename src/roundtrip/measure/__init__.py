"""From a declared campaign to a signed bundle: runs it with ReFrame, and collects its launches."""
