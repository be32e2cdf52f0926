"use strict";
// Five things are easier with a script: a page that is loaded anew goes on with its session, what
// changes is asked for again, another view comes without another page, and what a form holds lies in
// no file, and what a page shows can be searched. All else are forms. The secret of the session stands in those forms. Its
// first part, by which one looks, is kept for this tab; the part by which one answers is not, since
// browsers write what is kept into files. So do they with what a page was asked for by: the script
// sends every form itself, and puts the page that comes in the place of this one.
(() => {
  const key = "mcphub-session", place = "mcphub-view", every = 2000;
  let part, live; // of this page; none where it asks for the code
  let form; // of the view
  let asked = 0, shown = 0; // how often a view or page was asked for, and which of them is here whole
  let refresh = true; // a person wants it
  const remember = () => sessionStorage.setItem(place, form.getAttribute("action"));

  // begin is for each page that comes.
  const begin = () => {
    part = document.getElementById("part");
    live = document.getElementById("live");
    shown = asked;
    const current = document.querySelector("nav [aria-current]"), resume = document.getElementById("resume");
    if (part && current) {
      form = current.form;
      sessionStorage.setItem(key, form.elements.session.value.split(".")[0]);
      remember();
      history.replaceState(null, "", "/"); // else a browser would send again a form that it has sent itself
      live.addEventListener("change", () => { refresh = live.checked; });
      live.parentElement.hidden = false;
      live.checked &&= refresh;
    }
    if (!resume) return;
    document.getElementById("code").focus();
    if (document.querySelector("[data-refused]")) sessionStorage.removeItem(key);
    const kept = sessionStorage.getItem(key);
    if (kept) {
      resume.elements.session.value = kept;
      resume.action = sessionStorage.getItem(place) || resume.action;
      send(resume);
    }
  };

  // sift shows what has all words that are looked for: of the rows, and of the tools in a row that is not meant itself.
  const sift = () => {
    const find = document.getElementById("find");
    if (!find) return;
    const words = find.elements.any.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text) => words.every((word) => text.toLowerCase().includes(word));
    const all = [...part.querySelectorAll("[data-find]")];
    for (const one of all) {
      const row = one.parentElement.closest("[data-find]");
      one.hidden = !has(one.textContent) && !(row && has(row.dataset.find));
    }
    for (const row of part.querySelectorAll("details[data-find]")) {
      const inside = words.length > 0 && !row.hidden && row.querySelector("[data-find]:not([hidden])") !== null;
      if (inside && !row.open || !inside && row.hasAttribute("data-sifted")) {
        row.open = inside;
        row.toggleAttribute("data-sifted", inside);
      }
    }
    const shown = all.filter((one) => !one.closest("[hidden]")).length;
    document.getElementById("found").textContent = words.length ? `${shown} of ${all.length}` : "";
  };
  document.addEventListener("input", (event) => { if (event.target.form?.id === "find") sift(); });
  document.addEventListener("keydown", (event) => {
    const back = document.querySelector("[data-back]");
    if (event.key === "Escape" && back && event.target.form?.id !== "find") back.requestSubmit();
  });

  const post = (action, body, headers) => fetch(action, { method: "POST", body, headers, credentials: "omit", cache: "no-store" });

  const actionOf = (sent, button) => button?.getAttribute("formaction") ?? sent.getAttribute("action");

  // send is what a browser does with a form.
  const send = async (sent, button) => {
    const mine = ++asked;
    document.body.setAttribute("aria-busy", "true");
    try {
      const text = await (await post(actionOf(sent, button), new URLSearchParams(new FormData(sent, button)))).text();
      if (mine !== asked) return; // a later click counts
      document.body.replaceWith(new DOMParser().parseFromString(text, "text/html").body);
      scrollTo(0, 0);
      begin();
      (document.querySelector("[data-focus]") ?? part)?.focus({ preventScroll: true });
    } catch {
      if (mine === asked) over();
    }
  };

  const ask = (action, body, part) => post(action, body, { "Console-Part": part })
    .then(async (answer) => {
      if (!answer.ok) throw new Error(answer.status);
      return { text: await answer.text(), live: answer.headers.has("Console-Live"), more: answer.headers.has("Console-More") };
    });

  // Another view, or other rows of it, takes the place of the one that is shown: the browser need not load a page for it.
  document.addEventListener("submit", async (event) => {
    const sent = event.target, view = document.querySelector(`nav form[action="${actionOf(sent, event.submitter)}"]`);
    if (sent.hasAttribute("data-download")) return;
    event.preventDefault();
    if (!view) return send(sent, event.submitter);
    const mine = ++asked, body = new URLSearchParams(new FormData(sent));
    if (sent.id === "find") sent.reset(); // the record has been searched, and all that comes is shown
    try {
      for (let step = "brief", more = true; more; step = "whole") {
        const answer = await ask(view.action, body, step);
        if (mine !== asked) return; // a later click counts
        const inside = part.contains(document.activeElement);
        part.innerHTML = answer.text;
        sift();
        if (inside) part.focus({ preventScroll: true });
        if (step === "brief") scrollTo(0, 0);
        form = view;
        remember();
        for (const button of document.querySelectorAll("nav button")) {
          if (button.form === view) button.setAttribute("aria-current", "page");
          else button.removeAttribute("aria-current");
        }
        live.disabled = !answer.live;
        live.checked = answer.live && refresh;
        more = answer.more;
      }
      shown = mine;
    } catch {
      if (mine === asked) send(sent); // the page that comes says what is wrong
    }
  });

  // fields are those of the view: its filters, where it has some.
  const fields = () => {
    const pick = document.getElementById("pick");
    return new URLSearchParams(new FormData(pick || form));
  };
  // busy holds while a person reads or types in what would be replaced, and where a button that answers
  // would move under the pointer.
  const busy = () => document.hidden || part.contains(document.activeElement) && document.activeElement !== part ||
    part.querySelector("details[open], [data-answer]") !== null || !document.getSelection().isCollapsed;
  // over tells that there is nobody to ask any more.
  const over = () => {
    document.body.removeAttribute("aria-busy");
    if (live) {
      live.checked = false;
      live.disabled = true;
    }
    const notice = document.createElement("p");
    notice.className = "notice bad";
    notice.setAttribute("role", "alert");
    notice.textContent = "The console does not answer: it has ended. What is shown is from before.";
    document.querySelector("main").prepend(notice);
  };
  const look = async () => {
    const began = performance.now();
    if (asked === shown && live?.checked && !live.disabled && !busy()) { // else it would ask for the view before
      const mine = asked;
      try {
        const { text } = await ask(form.action, fields(), "whole");
        const said = part.querySelector("[role=status]");
        if (mine === asked && !busy()) {
          part.innerHTML = text;
          sift();
          if (said) part.prepend(said);
        }
      } catch {
        if (mine === asked) over();
      }
    }
    setTimeout(look, Math.max(every, 20 * (performance.now() - began))); // so it costs the hub little, however much there is to tell
  };
  begin();
  setTimeout(look, every);
})();
