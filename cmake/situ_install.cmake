# Install rules live here.
