// Shows a text in every place where the page shows what others wrote; run by test_page_hostile.py.
async (payloads) => {
    const { answerView } = await import("/page/answer.js");
    const { Run, work } = await import("/page/steps.js");
    const { problemView } = await import("/page/problem.js");
    for (const x of payloads) {
        const citation = (n, source) => ({ n, document: x, path: x, title: x, section: x, page: 1,
            line: 1, start: 0, end: 1, quote: `a: ${x} | ${x}: b`, verified: false, support: 1, source });
        const answer = { question: x, status: "answered", answer: `${x} [1] a: ${x}`, short_answer: x,
            confidence: 0.5, calibration: x, citations: [citation(1, "corpus"), citation(2, "web")],
            conflicts: [], strategy: x, phase: x, stop_reason: x, usage: {}, budget: {}, trace_id: x,
            warnings: [x] };
        const contested = { ...answer, conflicts: [{ answer: x, citations: [2], refuted: true }] };
        const withheld = { ...answer, status: "abstained" };
        const run = new Run();
        run.tell("plan", { strategy: x, question: x });
        for (const name of ["speak", "search", x]) {
            const step = { id: x + name, path: x, name, agent: x, chunk: `${x}#0`, outputs: { answer: x, to: x } };
            run.tell("step", { ...step, state: "ended", verdict: x, news: x, seconds: 1 });
        }
        run.tell("hits", { step: x + "search", hits: [{ document: x, title: x }] });
        const doing = work(run);
        for (const each of [answer, contested, withheld]) {
            doing.refresh(each);
            document.querySelector("main").append(answerView(each, () => {}));
        }
        document.querySelector("main").append(doing.box, problemView({ message: x, next: x, status: 1 }));
    }
}
