"""Why open messages wait: the causes of each, counted by place, with what to do."""
