// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowser does in a Chromium what an admin does: log in, create a key of each type, make IDs, edit,
// see a refused change, reset a token, log out.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	s := start(t, Options{SampleEvery: 50 * time.Millisecond})
	b := browse(t, s)
	b.open("")
	b.want("h1", "IDBuilder console")
	b.check("login")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), "not the token"))
	b.click("button.primary")
	b.want("[role=alert]", "no valid admin token")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), adminToken))
	b.click("button.primary")
	b.want("h1", "Overview")
	b.open("keys")
	b.want(".empty", "There is no key yet")
	b.check("empty")
	b.createIncrement()
	b.createFormatted()
	b.createSnowflake()
	b.editAndBeRefused()
	b.resetToken(s)
	b.seeCharts()
	for _, page := range []string{"keys", "workers", "access", "delete?key=orders", "key?key=nothing"} {
		b.open(page)
		b.check(strings.NewReplacer("?", "-", "=", "-").Replace(page))
	}
	b.click(".logout button")
	b.want("h1", "IDBuilder console")
	b.open("keys")
	b.want("h1", "IDBuilder console")
}

func (b *browser) createIncrement() {
	b.Helper()
	b.open("new")
	b.check("new")
	b.click(`a[href="new?type=increment"]`)
	b.do(chromedp.SendKeys(chromedp.CSS("#f-key"), "orders"), chromedp.SendKeys(chromedp.CSS("#f-name"), "Orders of the shop"))
	b.fill("#f-base", "1000")
	b.wantSoon("#preview", "1001")
	b.fill("#f-delta", "1x")
	b.wantSoon("#preview", "wanted is a whole number")
	b.click(".actions .primary")
	b.want("#summary", "1 field needs attention")
	b.check("fault")
	b.wantFocus("summary")
	b.fill("#f-delta", "1")
	b.click(".actions .primary")
	b.want("[role=status]", "The key was created.")
	b.want("h1", "orders")
	b.fill("#size", "3")
	b.click("form[action='generate'] button")
	b.want(".made", "1001\n1002\n1003")
	b.want(".ids", "1004")
	b.check("increment")
}

func (b *browser) createFormatted() {
	b.Helper()
	b.open("new?type=formatted")
	b.do(chromedp.SendKeys(chromedp.CSS("#f-key"), "invoices"))
	b.fill("#f-parts-0-value", "R-")
	b.wantSoon("#preview", "R-")
	b.want("#preview", "Every ID is unique.")
	b.do(chromedp.SetValue(chromedp.CSS("#f-add_type"), "fixed-random-chars"))
	b.click(".add button")
	b.wantFocus("f-parts-4-chars_scope")
	b.check("formatted-form")
	b.click(".actions .primary")
	b.want("h1", "invoices")
	b.want(".callout.good", "Every ID is unique.")
	b.click("form[action='generate'] button")
	b.want(".made", "-0001")
	b.check("formatted")
}

func (b *browser) createSnowflake() {
	b.Helper()
	b.open("new?type=snowflake")
	b.do(chromedp.SendKeys(chromedp.CSS("#f-key"), "events"))
	b.fill("#f-seq_size", "13")
	b.wantSoon("#preview", "they must sum to 64")
	b.fill("#f-ts_size", "40")
	b.wantSoon("#preview", "1,024 clients may make IDs at once, each 8,192 in a millisecond.")
	b.check("snowflake-form")
	b.click(".actions .primary")
	b.want("h1", "events")
	b.want(".facts", "0 of 1,024")
	b.check("snowflake")
}

func (b *browser) editAndBeRefused() {
	b.Helper()
	b.open("key?key=orders")
	b.click(`a[href="edit?key=orders"]`)
	b.fill("#f-base", "5")
	b.wantSoon("#preview", "Saving this will be refused.")
	b.click(".actions .primary")
	b.want("#summary", "IDs could come twice")
	b.want(".risk", "cannot be undone")
	b.check("refused")
	b.fill("#f-base", "5000")
	b.wantSoon("#preview", "5001")
	b.click(".actions .primary")
	b.want("[role=status]", "The changes were saved.")
	b.want(".ids", "5001")
}

// resetToken uses the token that the page shows against the API, before and after.
func (b *browser) resetToken(s service) {
	b.Helper()
	b.open("key?key=orders")
	b.click("form[action='token'] button")
	old := evaluate[string](b, "document.getElementById('token-text').value")
	b.check("token")
	ask := func(token string) int {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, strings.TrimSuffix(b.base, "admin/")+"v1/id/increment?key=orders", nil)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	if status := ask(old); status != http.StatusOK {
		b.Errorf("the token that is shown gets %d", status)
	}
	b.click(`a[href="reset?key=orders"]`)
	b.check("reset")
	b.click(".danger.solid")
	b.want("[role=status]", "The token was reset.")
	if status := ask(old); status != http.StatusUnauthorized {
		b.Errorf("the token that was reset gets %d", status)
	}
	if status := ask(evaluate[string](b, "document.getElementById('token-text').value")); status != http.StatusOK {
		b.Errorf("the new token gets %d", status)
	}
	b.open("key?key=orders")
	if evaluate[bool](b, "document.getElementById('token-text') !== null") {
		b.Error("the token is still shown")
	}
}

// seeCharts waits until samples have come, without loading the page anew.
func (b *browser) seeCharts() {
	b.Helper()
	b.open("")
	b.wantSoon(".state", "Ready")
	b.want(".charts", "Numbers in memory")
	b.check("overview")
	before := evaluate[string](b, "document.querySelector('.charts').innerHTML")
	b.do(chromedp.Evaluate[chromedp.Void]("for (let id = 1; id < 9; id++) clearInterval(id); refreshCharts(document.querySelector('.charts'))", chromedp.EvalAwaitPromise))
	if evaluate[string](b, "document.querySelector('.charts').innerHTML") == before {
		b.Error("the charts are not refreshed")
	}
}

// TestKeyboard logs in and creates a key by the keyboard alone.
func TestKeyboard(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	b := browse(t, start(t, Options{}))
	b.open("")
	b.keys(adminToken)
	b.leave(chromedp.KeyEvent(kb.Enter))
	b.want("h1", "Overview")
	b.keys(kb.Tab)
	b.want(":focus", "Skip to the content")
	b.keys(kb.Enter)
	b.open("keys")
	b.tabTo("New key")
	b.leave(chromedp.KeyEvent(kb.Enter))
	b.tabTo("Increment")
	b.leave(chromedp.KeyEvent(kb.Enter))
	b.wantFocus("f-key")
	b.keys("by-keyboard")
	b.keys(kb.Tab)
	b.keys("Made without a mouse")
	b.keys(kb.Tab)
	b.keys("41")
	b.leave(chromedp.KeyEvent(kb.Enter))
	b.want("h1", "by-keyboard")
	b.want(".ids", "42")
	b.wantNoTraps()
}

// tabTo presses Tab until the element with the focus shows a text.
func (b *browser) tabTo(text string) {
	b.Helper()
	for range 30 {
		b.keys(kb.Tab)
		if strings.HasPrefix(b.text(":focus"), text) {
			if evaluate[string](b, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
				b.Errorf("the focus at %q cannot be seen", text)
			}
			return
		}
	}
	b.Fatalf("Tab does not come to %q", text)
}

// wantNoTraps goes through the page by Tab: each control comes once, and then the page ends.
func (b *browser) wantNoTraps() {
	b.Helper()
	count := evaluate[int](b, "document.querySelectorAll('a[href], button:not([tabindex=\"-1\"]):not([hidden]), input:not([type=hidden]), select, summary').length")
	b.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	seen := map[string]bool{}
	for range count {
		b.keys(kb.Tab)
		name := evaluate[string](b, "document.activeElement.outerHTML")
		if seen[name] || strings.HasPrefix(name, "<body") {
			b.Errorf("the focus comes to %s again, or leaves before the end", name)
		}
		seen[name] = true
	}
}
