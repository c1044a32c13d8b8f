"""Small requests that the server itself sends: to identity providers that its operator named."""
