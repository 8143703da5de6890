"""Priority rules: files to statements (`read.read_rules`), statements to a history (`history`)."""
