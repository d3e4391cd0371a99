import sys
from mutants import scratch
scratch.prepare()
sys.exit(scratch.trace(*sys.argv[2:]))
