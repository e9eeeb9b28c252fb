// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kazahana-db/kazahana/internal/browsertest"
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
	b.OpenPage("")
	b.WantText("h1", "IDBuilder console")
	b.CheckPage("login")
	b.RunSteps(chromedp.SendKeys(chromedp.CSS("#token"), "not the token"))
	b.Click("button.primary")
	b.WantText("[role=alert]", "not a valid admin token")
	b.RunSteps(chromedp.SendKeys(chromedp.CSS("#token"), adminToken))
	b.Click("button.primary")
	b.WantText("h1", "Overview")
	b.OpenPage("keys")
	b.WantText(".empty", "There is no key yet")
	b.CheckPage("empty")
	b.createIncrement()
	b.createFormatted()
	b.createSnowflake()
	b.editAndBeRefused()
	b.resetToken(s)
	b.seeCharts()
	for _, page := range []string{"keys", "workers", "access", "delete?key=orders", "key?key=nothing"} {
		b.OpenPage(page)
		b.CheckPage(strings.NewReplacer("?", "-", "=", "-").Replace(page))
	}
	b.Click(".logout button")
	b.WantText("h1", "IDBuilder console")
	b.OpenPage("keys")
	b.WantText("h1", "IDBuilder console")
}

func (b *browser) createIncrement() {
	b.Helper()
	b.OpenPage("new")
	b.CheckPage("new")
	b.Click(`a[href="new?type=increment"]`)
	b.RunSteps(chromedp.SendKeys(chromedp.CSS("#f-key"), "orders"), chromedp.SendKeys(chromedp.CSS("#f-name"), "Orders of the shop"))
	b.FillInput("#f-base", "1000")
	b.WantSoon("#preview", "1001")
	b.FillInput("#f-delta", "1x")
	b.WantSoon("#preview", "wanted is a whole number")
	b.Click(".actions .primary")
	b.WantText("#summary", "1 field needs attention")
	b.CheckPage("fault")
	b.WantFocus("summary")
	b.FillInput("#f-delta", "1")
	b.Click(".actions .primary")
	b.WantText("[role=status]", "The key was created.")
	b.WantText("h1", "orders")
	b.FillInput("#size", "3")
	b.Click("form[action='generate'] button")
	b.WantText(".made", "1001\n1002\n1003")
	b.WantText(".ids", "1004")
	b.CheckPage("increment")
}

func (b *browser) createFormatted() {
	b.Helper()
	b.OpenPage("new?type=formatted")
	b.RunSteps(chromedp.SendKeys(chromedp.CSS("#f-key"), "invoices"))
	b.FillInput("#f-parts-0-value", "R-")
	b.WantSoon("#preview", "R-")
	b.WantText("#preview", "Every ID is unique.")
	b.RunSteps(chromedp.SetValue(chromedp.CSS("#f-add_type"), "fixed-random-chars"))
	b.Click(".add button")
	b.WantFocus("f-parts-4-chars_scope")
	b.CheckPage("formatted-form")
	b.Click(".actions .primary")
	b.WantText("h1", "invoices")
	b.WantText(".callout.good", "Every ID is unique.")
	b.Click("form[action='generate'] button")
	b.WantText(".made", "-0001")
	b.CheckPage("formatted")
}

func (b *browser) createSnowflake() {
	b.Helper()
	b.OpenPage("new?type=snowflake")
	b.RunSteps(chromedp.SendKeys(chromedp.CSS("#f-key"), "events"))
	b.FillInput("#f-seq_size", "13")
	b.WantSoon("#preview", "they must sum to 64")
	b.FillInput("#f-ts_size", "40")
	b.WantSoon("#preview", "1,024 clients may make IDs at once, each 8,192 in a millisecond.")
	b.CheckPage("snowflake-form")
	b.Click(".actions .primary")
	b.WantText("h1", "events")
	b.WantText(".facts", "0 of 1,024")
	b.CheckPage("snowflake")
}

func (b *browser) editAndBeRefused() {
	b.Helper()
	b.OpenPage("key?key=orders")
	b.Click(`a[href="edit?key=orders"]`)
	b.FillInput("#f-base", "5")
	b.WantSoon("#preview", "Saving this will be refused.")
	b.Click(".actions .primary")
	b.WantText("#summary", "IDs could come twice")
	b.WantText(".risk", "cannot be undone")
	b.CheckPage("refused")
	b.FillInput("#f-base", "5000")
	b.WantSoon("#preview", "5001")
	b.Click(".actions .primary")
	b.WantText("[role=status]", "The changes were saved.")
	b.WantText(".ids", "5001")
}

// resetToken resets a token, and uses the tokens that the page shows before and after that.
func (b *browser) resetToken(s service) {
	b.Helper()
	b.OpenPage("key?key=orders")
	b.Click("form[action='token'] button")
	old := browsertest.Evaluate[string](b.Page, "document.getElementById('token-text').value")
	b.CheckPage("token")
	ask := func(token string) int {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, strings.TrimSuffix(b.Base, "admin/")+"v1/id/increment?key=orders", nil)
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
	b.Click(`a[href="reset?key=orders"]`)
	b.CheckPage("reset")
	b.Click(".danger.solid")
	b.WantText("[role=status]", "The token was reset.")
	if status := ask(old); status != http.StatusUnauthorized {
		b.Errorf("the token that was reset gets %d", status)
	}
	if status := ask(browsertest.Evaluate[string](b.Page, "document.getElementById('token-text').value")); status != http.StatusOK {
		b.Errorf("the new token gets %d", status)
	}
	b.OpenPage("key?key=orders")
	if browsertest.Evaluate[bool](b.Page, "document.getElementById('token-text') !== null") {
		b.Error("the token is still shown")
	}
}

// seeCharts waits until the charts show samples, without loading the page again.
func (b *browser) seeCharts() {
	b.Helper()
	b.OpenPage("")
	b.WantSoon(".state", "Ready")
	b.WantText(".charts", "Numbers in memory")
	b.CheckPage("overview")
	b.RunSteps(chromedp.Evaluate[chromedp.Void](`for (let id = 1; id < 9; id++) clearInterval(id);
		document.querySelector('.charts').innerHTML = ''; refreshCharts(document.querySelector('.charts'))`, chromedp.EvalAwaitPromise))
	b.WantText(".charts", "Numbers in memory")
}

// TestKeyboard logs in and creates a key by the keyboard alone.
func TestKeyboard(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	b := browse(t, start(t, Options{}))
	b.OpenPage("")
	b.WantFocus("token")
	b.PressKeys(adminToken)
	b.LeavePage(chromedp.KeyEvent(kb.Enter))
	b.WantText("h1", "Overview")
	b.PressKeys(kb.Tab)
	b.WantText(":focus", "Skip to the content")
	b.PressKeys(kb.Enter)
	b.OpenPage("keys")
	b.TabTo("New key")
	b.LeavePage(chromedp.KeyEvent(kb.Enter))
	b.TabTo("Increment")
	b.LeavePage(chromedp.KeyEvent(kb.Enter))
	b.WantFocus("f-key")
	b.PressKeys("by-keyboard")
	b.PressKeys(kb.Tab)
	b.PressKeys("Made without a mouse")
	b.PressKeys(kb.Tab)
	b.PressKeys("41")
	b.LeavePage(chromedp.KeyEvent(kb.Enter))
	b.WantText("h1", "by-keyboard")
	b.WantText(".ids", "42")
	b.WantNoTraps()
}
