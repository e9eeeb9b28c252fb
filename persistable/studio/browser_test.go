// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/browsertest"
)

// visit is a page of the site in a browser.
type visit struct {
	*browsertest.Page
	site *site
}

// TestBrowser goes through all views in a Chromium. The page fails it if anything is written to the
// console, as a breach of the Content-Security-Policy is, or if another host is asked.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	s := start(t, Options{Write: true, Database: "the folder data"})
	page := browsertest.Open(t, s.URL+"/")
	page.OpenPage("records?token=wrong")
	page.WantSoon("h1", "Enter the token")
	page.CheckPage("closed")
	page.FillInput("#token", "a guess")
	page.PressKeys(kb.Enter)
	page.WantSoon("#fault", "This is not the token.")
	page.OpenPage(s.pages.Link(""))
	page.WantSoon("h1", "Overview")
	if at := browsertest.Evaluate[string](page, "location.href + document.cookie"); at != page.Base {
		t.Fatalf("address and cookies that a script sees: %s", at)
	}
	for _, view := range []struct {
		name  string
		check func(*visit)
	}{
		{"leases", (*visit).seeLeases}, // before a new record leases a machine id
		{"overview", (*visit).seeOverview},
		{"directories", (*visit).seeDirectories},
		{"types", (*visit).seeTypes},
		{"records", (*visit).seeRecords},
		{"record", (*visit).seeRecord},
		{"editing", (*visit).editRecord},
		{"a new record", (*visit).createRecord},
		{"indexes", (*visit).seeIndexes},
		{"schema", (*visit).seeSchema},
		{"changes", (*visit).seeChanges},
		{"sizes", (*visit).seeSizes},
		{"metrics", (*visit).seeMetrics},
		{"keyboard", (*visit).useKeyboard},
		{"colours", (*visit).switchColours},
		{"hostile contents", (*visit).seeHostileContents},
		{"tenants", (*visit).seeTenants},
		{"errors", (*visit).seeErrors},
		{"references", (*visit).followReferences},
	} {
		t.Run(view.name, func(t *testing.T) {
			v := &visit{page.For(t), s}
			view.check(v)
			v.WantQuiet()
		})
	}
}

const ordersPath = "p=tenants&p=tenant-1&p=orders&type=Order"

// openView opens a view and waits until it is there.
func (v *visit) openView(address, title string) {
	v.Helper()
	v.OpenPage(address)
	v.WantSoon("h1", title)
	if !v.AwaitTrue("!document.querySelector('main').hasAttribute('aria-busy')") {
		v.Fatalf("%s stays busy", address)
	}
}

// CheckPage makes the checks of a page, and that a narrow window shows all cells of a table.
func (v *visit) CheckPage(name string) {
	v.Helper()
	v.Page.CheckPage(name)
	v.RunSteps(chromedp.EmulateViewport(320, 640))
	if hidden := browsertest.Evaluate[string](v.Page, "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel).join()"); hidden != "" {
		v.Errorf("%s: in a narrow window cells are out of sight: %s", name, hidden)
	}
	v.RunSteps(chromedp.EmulateViewport(1200, 800))
}

// press clicks an element.
func (v *visit) press(selector string) {
	v.Helper()
	v.RunSteps(chromedp.Click(chromedp.CSS(selector)))
}

// pressText clicks the button or the link with a text.
func (v *visit) pressText(within, text string) {
	v.Helper()
	find := "[...document.querySelectorAll(`" + within + " button, " + within + " a`)].find(b => b.textContent.trim() === `" + text + "`)"
	if !v.AwaitTrue("Boolean(" + find + ")") {
		v.Fatalf("there is no %q in %s", text, within)
	}
	v.RunSteps(chromedp.Evaluate[chromedp.Void](find + ".click()"))
}

// pressSearch presses "/". The browser's protocol would write it into the field, too, which a keyboard
// does not, because the page prevents it.
func (v *visit) pressSearch() {
	v.Helper()
	v.RunSteps(chromedp.Evaluate[chromedp.Void]("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))"))
	if !v.AwaitTrue("document.activeElement.matches('[data-search]')") {
		v.Error("the field of the search does not get the focus")
	}
}

// wantAddress waits until the address has a text.
func (v *visit) wantAddress(text string) {
	v.Helper()
	if !v.AwaitTrue("location.href.includes('" + text + "')") {
		v.Errorf("the address is %s, want %s in it", browsertest.Evaluate[string](v.Page, "location.href"), text)
	}
}

// back goes to the page before.
func (v *visit) back() {
	v.Helper()
	v.RunSteps(chromedp.Evaluate[chromedp.Void]("history.back()"))
}

func (v *visit) seeOverview() {
	v.openView("", "Overview")
	v.WantText(".facts", "the folder data")
	v.WantText("main", "tenants/{TenantID}")
	v.WantText(".brand", "writes allowed")
	v.WantText("main", "it is open by the program that serves this page")
	v.CheckPage("overview")
	v.pressText("main", "Counter")
	v.wantAddress("records?p=counters")
	v.WantSoon("h1", "Counter")
	v.back()
	v.WantSoon("h1", "Overview")
}

func (v *visit) seeDirectories() {
	v.openView("directories", "Directories")
	v.WantText(".tree", "counters")
	if v.VisibleText("[data-key='[\"tenants\",\"tenant-1\"]']") != "" {
		v.Error("a directory is open before it is opened")
	}
	v.press(`[data-key='["tenants"]'] .twist`)
	v.WantSoon(`[data-key='["tenants","tenant-1"]']`, "partition")
	v.press(`[data-key='["tenants","tenant-1"]'] .name`)
	v.wantAddress("p=tenants&p=tenant-1")
	v.WantSoon(".detail", "Order")
	v.WantText(".detail", "partition")
	v.CheckPage("directories")
	v.RunSteps(chromedp.Evaluate[chromedp.Void](`document.querySelector('[aria-selected=true]').focus()`))
	v.PressKeys(kb.ArrowLeft)
	if !v.AwaitTrue(`!document.querySelector('[data-key=\'["tenants","tenant-1","orders"]\']')`) {
		v.Error("the arrow does not close a directory")
	}
	v.PressKeys(kb.ArrowRight)
	v.WantSoon(`[data-key='["tenants","tenant-1","orders"]']`, "orders")
}

func (v *visit) seeTypes() {
	v.openView("types", "Types")
	v.WantText("main", "tenants/tenant-1/orders")
	v.CheckPage("types")
	v.pressSearch()
	v.PressKeys("tenant-2 order")
	v.wantAddress("q=tenant-2+order")
	if rows := browsertest.Evaluate[int](v.Page, "document.querySelectorAll('tbody tr').length"); rows != 1 {
		v.Errorf("the filter leaves %d rows", rows)
	}
}

func (v *visit) seeRecords() {
	v.openView("records?limit=10&"+ordersPath, "Order")
	v.WantText("tbody tr:first-child", firstOrder)
	v.WantText("tbody tr:first-child", "A-1001")
	v.CheckPage("records")
	v.chooseColumns()
	v.pressText(".pager", "Next page")
	v.WantSoon("tbody tr:first-child", "A-1011")
	v.pressText(".pager", "Next page")
	v.WantSoon("tbody tr:last-child", "A-1024")
	v.back()
	v.WantSoon("tbody tr:first-child", "A-1011")
	v.pressText(".pager", "Next page")
	v.WantSoon("tbody tr:last-child", "A-1024")
	v.pressText(".pager", "Previous page")
	v.WantSoon("tbody tr:first-child", "A-1011")
	v.pressText(".pager", "Previous page")
	v.WantSoon("tbody tr:first-child", "A-1001")
	v.pressSearch()
	v.PressKeys(`Status = 1 and Country = "FR"`)
	v.PressKeys(kb.Enter)
	v.wantAddress("where=Status")
	v.WantSoon("tbody tr:first-child", "A-1002")
	if all := browsertest.Evaluate[bool](v.Page, "[...document.querySelectorAll('tbody tr')].every(r => r.innerText.includes('FR'))"); !all {
		v.Error("records that the condition excludes are shown")
	}
	v.openView("records?where=Status+%3D&"+ordersPath, "Order")
	v.WantText("[role=alert]", "Status")
	v.openView("records?where=Amount+%3D+-1&"+ordersPath, "Order")
	v.WantText(".empty", "No record fulfils the condition")
	v.openView("records?index=Order_Number_unique&reverse=1&"+ordersPath, "Order")
	v.WantText("tbody tr:first-child", "A-1024")
}

// chooseColumns leaves out a column, which the next page and the files leave out, too.
func (v *visit) chooseColumns() {
	v.press(".columns summary")
	v.RunSteps(chromedp.Evaluate[chromedp.Void]("[...document.querySelectorAll(`.columns label`)].find(l => l.textContent === `Country`).click()"))
	v.wantAddress("column=Number")
	if !v.AwaitTrue("!document.querySelector('main thead').innerText.includes('Country')") {
		v.Error("a column that was left out is shown")
	}
	file := browsertest.Evaluate[string](v.Page, "document.querySelector('.exports a[download]').getAttribute('href')")
	if !strings.Contains(file, "format=csv") || !strings.Contains(file, "column=Number") || strings.Contains(file, "column=Country") {
		v.Errorf("the file is %s", file)
	}
	v.press(".exports a[download]")
	v.WantText("h1", "Order") // a download does not leave the view
	v.openView("records?limit=10&"+ordersPath, "Order")
}

func (v *visit) seeIndexes() {
	v.openView("indexes?"+ordersPath, "Order")
	v.WantText("main", "Order_Status_CreatedAt")
	v.WantText("main", "readable")
	v.press("#verify")
	v.WantSoon("[data-job=verify]", "No faults.")
	v.WantSoon("[data-job=verify]", "done")
	v.CheckPage("indexes")
	v.press("#build")
	v.WantSoon("[data-job=build]", "done")
	v.pressText("main tbody tr:first-child", "Drop…")
	v.WantSoon("dialog", "removes all entries")
	if !browsertest.Evaluate[bool](v.Page, "document.querySelector('dialog button.danger').disabled") {
		v.Error("an index can be dropped without its name")
	}
	v.PressKeys("Order_Address.City")
	v.PressKeys(kb.Enter)
	v.WantSoon("[data-job=drop]", "done")
	if !v.AwaitTrue("!document.querySelector('main table').innerText.includes('Order_Address.City')") {
		v.Error("the index that was dropped is still listed")
	}
}

func (v *visit) seeSchema() {
	v.openView("schema?p=tenants&p=tenant-1&p=accounts&type=Account", "Account")
	v.WantText("main", "was int32")
	v.WantText("details[open] .diff", "index Account_")
	v.CheckPage("schema")
	v.pressText(".tabs", "Changes")
	v.WantSoon(".empty", "No change feed")
	v.CheckPage("no-feed")
}

func (v *visit) seeChanges() {
	store := bazaar.OrderStoreOf(v.site.db, "tenant-3")
	v.openView("changes?p=tenants&p=tenant-3&p=orders&type=Order", "Order")
	v.WantSoon("#feed-state", "live")
	v.WantSoon("tbody tr", "A-1001")
	if err := store.Update(v.Context(), 72623859790382856, func(o *bazaar.Order) error { o.Country = "IS"; return nil }); err != nil {
		v.Fatal(err)
	}
	v.WantSoon("tbody tr:first-child", "IS")
	v.CheckPage("changes")
	v.press("#pause")
	if err := store.Update(v.Context(), 72623859790382856, func(o *bazaar.Order) error { o.Country = "NO"; return nil }); err != nil {
		v.Fatal(err)
	}
	v.WantSoon("#feed-state", "paused, 1 more")
	v.WantText("tbody tr:first-child", "IS")
	v.press("#pause")
	v.WantSoon("tbody tr:first-child", "NO")
}

func (v *visit) seeLeases() {
	releaseLease(v.T, v.site.db.Engine())
	v.openView("leases", "Leases and IDs")
	v.WantSoon("main", "None in force")
	if _, err := v.site.db.IDs().Next(v.Context()); err != nil {
		v.Fatal(err)
	}
	v.openView("leases", "Leases and IDs")
	v.WantSoon("main", "in force")
	v.FillInput("#decode", firstOrder)
	v.PressKeys(kb.Enter)
	v.WantSoon("#decoded", "1vSWGZmRFYg")
	v.wantAddress("id=" + firstOrder)
	v.CheckPage("leases")
	v.FillInput("#decode", "<b>no</b>")
	v.PressKeys(kb.Enter)
	v.WantSoon("#decoded [role=alert]", "<b>no</b>")
}

func (v *visit) seeMetrics() {
	v.openView("metrics", "Metrics")
	v.WantText(".charts", "Commits per second")
	if lines := browsertest.Evaluate[int](v.Page, "document.querySelectorAll('.charts polyline').length"); lines != 10 {
		v.Errorf("%d lines are drawn", lines)
	}
	v.CheckPage("metrics")
	v.pressText("main", "Pause")
	v.WantText(".heading", "Go on")
	v.press("details summary")
	v.WantSoon("details[open]", "Commits")
}

func (v *visit) seeSizes() {
	v.openView("sizes", "Sizes")
	v.WantSoon(".treemap", "tenants")
	v.CheckPage("sizes")
	v.checkMapWidth()
	v.RunSteps(chromedp.Evaluate[chromedp.Void](`document.querySelector('.tile[href*="p=tenants"]').focus()`))
	v.PressKeys(kb.Enter)
	v.WantSoon("h1", "Sizes in tenants")
	v.WantSoon(".treemap", "tenant-1")
	v.RunSteps(chromedp.Evaluate[chromedp.Void](`document.querySelector('.tile').focus()`))
	before := v.VisibleText(".tile:focus")
	v.PressKeys(kb.ArrowRight)
	if after := v.VisibleText(".tile:focus"); after == before {
		v.Errorf("the arrow stays at %s", after)
	}
	v.PressKeys(kb.Backspace)
	if !v.AwaitTrue("document.querySelector('h1').textContent === 'Sizes'") {
		v.Error("Backspace does not zoom out")
	}
}

// checkMapWidth checks that the map follows the width of the page, and that its tiles do not widen
// the page before they are drawn again.
func (v *visit) checkMapWidth() {
	v.Helper()
	if !v.AwaitTrue("Math.abs(Math.max(...[...document.querySelectorAll('.tile')].map(t => t.getBoundingClientRect().right)) - document.querySelector('.treemap').getBoundingClientRect().right) < 4") {
		v.Error("the map does not follow the width of the page")
	}
	// In one script, since the page draws the map again in the next frame.
	narrow := `(() => {
		const {style} = document.querySelector('.treemap'), {documentElement: page} = document;
		style.marginInlineStart = '50%';
		const wider = page.scrollWidth - page.clientWidth;
		style.marginInlineStart = '';
		return wider;
	})()`
	if wider := browsertest.Evaluate[int](v.Page, narrow); wider > 0 {
		v.Errorf("the tiles of a wider map make the page %d pixels wider", wider)
	}
}
