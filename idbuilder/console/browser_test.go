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

// TestBrowser does the work of an admin in a Chromium: log in, create a key of each type, make IDs,
// edit, see a refused change, reset a token, log out.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	s := start(t, Options{SampleEvery: 50 * time.Millisecond})
	b := browse(t, s)
	b.openPage("")
	b.wantText("h1", "IDBuilder console")
	b.checkPage("login")
	b.runSteps(chromedp.SendKeys(chromedp.CSS("#token"), "not the token"))
	b.click("button.primary")
	b.wantText("[role=alert]", "no valid admin token")
	b.runSteps(chromedp.SendKeys(chromedp.CSS("#token"), adminToken))
	b.click("button.primary")
	b.wantText("h1", "Overview")
	b.openPage("keys")
	b.wantText(".empty", "There is no key yet")
	b.checkPage("empty")
	b.createIncrement()
	b.createFormatted()
	b.createSnowflake()
	b.editAndBeRefused()
	b.resetToken(s)
	b.seeCharts()
	for _, page := range []string{"keys", "workers", "access", "delete?key=orders", "key?key=nothing"} {
		b.openPage(page)
		b.checkPage(strings.NewReplacer("?", "-", "=", "-").Replace(page))
	}
	b.click(".logout button")
	b.wantText("h1", "IDBuilder console")
	b.openPage("keys")
	b.wantText("h1", "IDBuilder console")
}

func (b *browser) createIncrement() {
	b.Helper()
	b.openPage("new")
	b.checkPage("new")
	b.click(`a[href="new?type=increment"]`)
	b.runSteps(chromedp.SendKeys(chromedp.CSS("#f-key"), "orders"), chromedp.SendKeys(chromedp.CSS("#f-name"), "Orders of the shop"))
	b.fillInput("#f-base", "1000")
	b.wantSoon("#preview", "1001")
	b.fillInput("#f-delta", "1x")
	b.wantSoon("#preview", "wanted is a whole number")
	b.click(".actions .primary")
	b.wantText("#summary", "1 field needs attention")
	b.checkPage("fault")
	b.wantFocus("summary")
	b.fillInput("#f-delta", "1")
	b.click(".actions .primary")
	b.wantText("[role=status]", "The key was created.")
	b.wantText("h1", "orders")
	b.fillInput("#size", "3")
	b.click("form[action='generate'] button")
	b.wantText(".made", "1001\n1002\n1003")
	b.wantText(".ids", "1004")
	b.checkPage("increment")
}

func (b *browser) createFormatted() {
	b.Helper()
	b.openPage("new?type=formatted")
	b.runSteps(chromedp.SendKeys(chromedp.CSS("#f-key"), "invoices"))
	b.fillInput("#f-parts-0-value", "R-")
	b.wantSoon("#preview", "R-")
	b.wantText("#preview", "Every ID is unique.")
	b.runSteps(chromedp.SetValue(chromedp.CSS("#f-add_type"), "fixed-random-chars"))
	b.click(".add button")
	b.wantFocus("f-parts-4-chars_scope")
	b.checkPage("formatted-form")
	b.click(".actions .primary")
	b.wantText("h1", "invoices")
	b.wantText(".callout.good", "Every ID is unique.")
	b.click("form[action='generate'] button")
	b.wantText(".made", "-0001")
	b.checkPage("formatted")
}

func (b *browser) createSnowflake() {
	b.Helper()
	b.openPage("new?type=snowflake")
	b.runSteps(chromedp.SendKeys(chromedp.CSS("#f-key"), "events"))
	b.fillInput("#f-seq_size", "13")
	b.wantSoon("#preview", "they must sum to 64")
	b.fillInput("#f-ts_size", "40")
	b.wantSoon("#preview", "1,024 clients may make IDs at once, each 8,192 in a millisecond.")
	b.checkPage("snowflake-form")
	b.click(".actions .primary")
	b.wantText("h1", "events")
	b.wantText(".facts", "0 of 1,024")
	b.checkPage("snowflake")
}

func (b *browser) editAndBeRefused() {
	b.Helper()
	b.openPage("key?key=orders")
	b.click(`a[href="edit?key=orders"]`)
	b.fillInput("#f-base", "5")
	b.wantSoon("#preview", "Saving this will be refused.")
	b.click(".actions .primary")
	b.wantText("#summary", "IDs could come twice")
	b.wantText(".risk", "cannot be undone")
	b.checkPage("refused")
	b.fillInput("#f-base", "5000")
	b.wantSoon("#preview", "5001")
	b.click(".actions .primary")
	b.wantText("[role=status]", "The changes were saved.")
	b.wantText(".ids", "5001")
}

// resetToken resets a token, and uses the tokens that the page shows before and after that.
func (b *browser) resetToken(s service) {
	b.Helper()
	b.openPage("key?key=orders")
	b.click("form[action='token'] button")
	old := evaluate[string](b, "document.getElementById('token-text').value")
	b.checkPage("token")
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
	b.checkPage("reset")
	b.click(".danger.solid")
	b.wantText("[role=status]", "The token was reset.")
	if status := ask(old); status != http.StatusUnauthorized {
		b.Errorf("the token that was reset gets %d", status)
	}
	if status := ask(evaluate[string](b, "document.getElementById('token-text').value")); status != http.StatusOK {
		b.Errorf("the new token gets %d", status)
	}
	b.openPage("key?key=orders")
	if evaluate[bool](b, "document.getElementById('token-text') !== null") {
		b.Error("the token is still shown")
	}
}

// seeCharts waits until the charts show samples, without loading the page again.
func (b *browser) seeCharts() {
	b.Helper()
	b.openPage("")
	b.wantSoon(".state", "Ready")
	b.wantText(".charts", "Numbers in memory")
	b.checkPage("overview")
	before := evaluate[string](b, "document.querySelector('.charts').innerHTML")
	b.runSteps(chromedp.Evaluate[chromedp.Void]("for (let id = 1; id < 9; id++) clearInterval(id); refreshCharts(document.querySelector('.charts'))", chromedp.EvalAwaitPromise))
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
	b.openPage("")
	b.pressKeys(adminToken)
	b.leavePage(chromedp.KeyEvent(kb.Enter))
	b.wantText("h1", "Overview")
	b.pressKeys(kb.Tab)
	b.wantText(":focus", "Skip to the content")
	b.pressKeys(kb.Enter)
	b.openPage("keys")
	b.tabTo("New key")
	b.leavePage(chromedp.KeyEvent(kb.Enter))
	b.tabTo("Increment")
	b.leavePage(chromedp.KeyEvent(kb.Enter))
	b.wantFocus("f-key")
	b.pressKeys("by-keyboard")
	b.pressKeys(kb.Tab)
	b.pressKeys("Made without a mouse")
	b.pressKeys(kb.Tab)
	b.pressKeys("41")
	b.leavePage(chromedp.KeyEvent(kb.Enter))
	b.wantText("h1", "by-keyboard")
	b.wantText(".ids", "42")
	b.wantNoTraps()
}

// tabTo presses Tab until the element with the focus shows a text.
func (b *browser) tabTo(text string) {
	b.Helper()
	for range 30 {
		b.pressKeys(kb.Tab)
		if strings.HasPrefix(b.visibleText(":focus"), text) {
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
	b.runSteps(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	seen := map[string]bool{}
	for range count {
		b.pressKeys(kb.Tab)
		name := evaluate[string](b, "document.activeElement.outerHTML")
		if seen[name] || strings.HasPrefix(name, "<body") {
			b.Errorf("the focus comes to %s again, or leaves before the end", name)
		}
		seen[name] = true
	}
}
