// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kazahana-db/kazahana/internal/browsertest"
)

func (v *visit) useKeyboard() {
	v.openView("", "Overview")
	// In one script, since the page waits for the second key for a second and a half.
	v.RunSteps(chromedp.Evaluate[chromedp.Void]("for (const key of 'gy') document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"))
	v.WantSoon("h1", "Types")
	v.PressKeys("j")
	v.PressKeys("j")
	v.WantText(":focus", "Event")
	v.PressKeys("k")
	v.PressKeys(kb.Enter)
	v.WantSoon("h1", "Counter")
	v.PressKeys("?")
	v.WantSoon("dialog", "next and previous row")
	v.CheckPage("help")
	v.PressKeys(kb.Escape)
	v.PressKeys("k", chromedp.KeyModifiers(2))
	v.WantSoon("#palette", "Directories")
	// In one script, since the page removes a closed dialog a moment later.
	if n := browsertest.Evaluate[int](v.Page, "document.querySelector('dialog').close(); document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true})); document.querySelectorAll('dialog').length"); n != 1 {
		v.Errorf("%d dialogs are there", n)
	}
	v.PressKeys("tenant-3 account")
	v.WantSoon("#palette", "tenants/tenant-3/accounts")
	v.CheckPage("palette")
	v.PressKeys(kb.Enter)
	v.WantSoon("h1", "Account")
	v.wantAddress("p=tenant-3&p=accounts")
	v.RunSteps(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur(); document.querySelector('.skip').focus()"))
	v.PressKeys(kb.Enter)
	v.WantFocus("main")
	v.openView("leases", "Leases and IDs")
	v.WantNoTraps()
}

func (v *visit) switchColours() {
	v.openView("", "Overview")
	ground := func() string {
		return browsertest.Evaluate[string](v.Page, "getComputedStyle(document.body).backgroundColor")
	}
	light := ground()
	choose := func(scheme string) {
		v.RunSteps(chromedp.Evaluate[chromedp.Void]("const s = document.getElementById('theme'); s.value = '" + scheme + "'; s.dispatchEvent(new Event('change'))"))
	}
	v.RunSteps(chromedp.Evaluate[chromedp.Void]("{ const s = document.getElementById('theme'); s.value = 'dark'; s.dispatchEvent(new Event('change')) }"))
	if ground() == light {
		v.Error("the switch changes no colours")
	}
	v.openView("types", "Types")
	if ground() == light {
		v.Error("the choice is forgotten with the page")
	}
	choose("auto")
	if ground() != light {
		v.Error("the system's colours do not come back")
	}
}
