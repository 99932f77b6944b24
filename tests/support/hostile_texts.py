"""Texts that would act if they were not escaped."""

HOSTILE = (
    "<script>alert(1)</script>",
    "</textarea></script><img src=x onerror=alert(1)>",
    "\" onmouseover=alert(1) x='",
    "<svg/onload=alert(1)>",
    "{{ 7 * 7 }} {% raw %} ${7*7} <!-- -->",
    "]]> <![CDATA[ &lt;b&gt; &#x3C;script&#x3E;",
    "</li></ol></details></form><h1>Mine</h1>",
    "javascript:alert(1) data:text/html,<script>",
    "\u202eevil\u202c \u2066isolated \u2067never closed \u200f",
    "\ufeff zero\u200bwidth \x07\x1b[31m \u0301\u0301\u0301",
)
