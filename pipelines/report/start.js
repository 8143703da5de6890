// What the page does when it is there.

shade(document);
for (const body of document.querySelectorAll("[data-table]:not([data-chosen]) tbody")) control(body.closest("[data-table]"));
choices("queue");
choices("instance");
document.querySelectorAll(".cards li").forEach(fitSentences);
watchRoom();
copyOnClick();
