"""A simulated pair of servers, whose captures and whose truth are known.

`database` and `servers` are what Service Broker does, `actions` and `days` what applications and people do to
it at random, and when captures are taken. `truth` and `histories` say what any as_of has to say of the
captures. All is written from the vendor's documentation and the semantics, and shares no code with the
pipeline.
"""
