document.documentElement.className = "js";
try {
  var theme = localStorage.getItem("genesieve-theme");
  if (theme === "light" || theme === "dark") document.documentElement.setAttribute("data-theme", theme);
} catch (error) { /* some browsers give local files no storage */ }
