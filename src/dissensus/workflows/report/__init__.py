"""Reports on the site: requests, the background job, and the process that makes one."""
