// SPDX-License-Identifier: Apache-2.0

// Package site tests the documentation site that `make site` has built, in a browser.
package site

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/kazahana-db/kazahana/internal/browsertest"
)

// TestBrowser looks at pages below the path that the site was built for, in windows of two widths, and
// searches. It fails if a page asks another host for anything, or writes to the console.
func TestBrowser(t *testing.T) {
	base := findBase(t)
	server := httptest.NewServer(http.StripPrefix(base[:len(base)-1], http.FileServer(http.Dir("dist"))))
	defer server.Close()
	p := browsertest.Open(t, server.URL+base)
	for name, heading := range map[string]string{
		"": "Kazahana", "docs/tutorial/": "Tutorial", "docs/tutorial/2-http.html": "2. Tenants and HTTP", "docs/tags.html": "Tags", "docs/guarantees.html": "Guarantees",
	} {
		p.OpenPage(name)
		p.WantSoon("h1", heading)
		checkWidths(t, p, name)
		p.TakeScreenshots(regexp.MustCompile(`\W+`).ReplaceAllString("site-"+name, "-"))
	}
	search(t, p)
}

// findBase returns the path below which the site is to be served. Without a site the test is
// skipped, or fails in CI.
func findBase(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short: make test runs it")
	}
	page, err := os.ReadFile("dist/index.html")
	if err != nil {
		const missing = "no site; it is not tested in a browser (make site)"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	found := regexp.MustCompile(`href="(/\S*?)assets/`).FindSubmatch(page)
	if found == nil {
		t.Fatal("dist/index.html loads no stylesheet")
	}
	return string(found[1])
}

// checkWidths checks that no page has to be scrolled sideways.
func checkWidths(t *testing.T, p *browsertest.Page, name string) {
	t.Helper()
	for _, width := range []int64{360, 1280} {
		p.RunSteps(chromedp.EmulateViewport(width, 800))
		if wider := browsertest.Evaluate[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wider > 0 {
			t.Errorf("%q: at %d pixels the page is %d wider", name, width, wider)
		}
	}
}

// search types into the search and opens what it finds first.
func search(t *testing.T, p *browsertest.Page) {
	t.Helper()
	p.OpenPage("docs/tags.html")
	p.WantSoon("h1", "Tags")
	p.RunSteps(chromedp.Click(chromedp.CSS(".DocSearch-Button")))
	p.RunSteps(chromedp.SendKeys(chromedp.CSS("#localsearch-input"), "systemd"))
	p.WantSoon("#localsearch-list", "Deploying")
	p.PressKeys("\r")
	if !p.AwaitTrue(`location.pathname.endsWith("/docs/deploying.html")`) {
		t.Errorf("the search opened %s", browsertest.Evaluate[string](p, "location.href"))
	}
}
