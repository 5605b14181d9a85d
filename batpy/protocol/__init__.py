"""What simulator, broker and schedulers say to one another: messages, codecs, the conversation's rules.

Knows no socket, no file and no simulator.
"""
