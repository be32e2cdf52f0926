"use strict";
// Two things are easier with a script: a page that is loaded anew goes on with its session, and what
// changes is asked for again. All else are forms. The secret of the session stands in those forms. Its
// first part, by which one looks, is kept for this tab; the part by which one answers is not, since
// browsers write what is kept into files.
(() => {
  const key = "mcphub-session", place = "mcphub-view", every = 2000;
  const resume = document.getElementById("resume");
  if (resume) {
    if (document.querySelector("[data-refused]")) sessionStorage.removeItem(key);
    const kept = sessionStorage.getItem(key);
    if (kept) {
      resume.elements.session.value = kept;
      resume.action = sessionStorage.getItem(place) || resume.action;
      resume.submit();
    }
    return;
  }
  const part = document.getElementById("part"), live = document.getElementById("live");
  const current = document.querySelector("nav [aria-current]");
  if (!part || !current) return;
  const form = current.form, session = form.elements.session.value;
  sessionStorage.setItem(key, session.split(".")[0]);
  sessionStorage.setItem(place, form.getAttribute("action"));
  history.replaceState(null, "", "/"); // else a browser would send the form again, a restart too
  live.parentElement.hidden = false;

  // fields are those of the view: its filters, where it has some.
  const fields = () => {
    const pick = document.getElementById("pick");
    return new URLSearchParams(new FormData(pick || form));
  };
  // busy holds while a person reads or types in what would be replaced, and where a button that answers
  // would move under the pointer.
  const busy = () => document.hidden || part.contains(document.activeElement) && document.activeElement !== part ||
    part.querySelector("details[open], [data-answer]") !== null || !document.getSelection().isCollapsed;
  const look = async () => {
    if (live.checked && !live.disabled && !busy()) {
      try {
        const answer = await fetch(form.action, { method: "POST", body: fields(), headers: { "Console-Part": "1" }, credentials: "omit", cache: "no-store" });
        if (!answer.ok) throw new Error(answer.status);
        const text = await answer.text();
        const said = part.querySelector("[role=status]");
        if (!busy()) {
          part.innerHTML = text;
          if (said) part.prepend(said);
        }
      } catch {
        live.checked = false;
        live.disabled = true;
        const notice = document.createElement("p");
        notice.className = "notice bad";
        notice.setAttribute("role", "alert");
        notice.textContent = "The console does not answer: it has ended. What is shown is from before.";
        part.prepend(notice);
      }
    }
    setTimeout(look, every);
  };
  setTimeout(look, every);
})();
