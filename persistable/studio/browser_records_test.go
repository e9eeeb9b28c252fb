// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"fmt"

	"github.com/chromedp/chromedp/kb"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/browsertest"
	"github.com/kazahana-db/kazahana/persistable/testdata/deleted"
)

// createRecord writes a new record, first one that cannot be.
func (v *visit) createRecord() {
	v.openView("records?"+ordersPath, "Order")
	v.press("#new")
	v.WantSoon(".editor", "The library makes the id.")
	v.CheckPage("new")
	v.replaceJSON(`"Number": ""`, `"Number": "A-1001"`)
	v.press("#save")
	v.WantSoon(".editor [role=alert]", "A-1001")
	v.replaceJSON(`"Number": "A-1001"`, `"Number": "N-2000"`)
	v.press("#save")
	v.WantSoon(".toasts", "The record was created.")
	v.wantAddress("record?")
	v.WantSoon("main", "N-2000")
	o, err := bazaar.OrderStoreOf(v.site.db, "tenant-1").ByNumber(v.Context(), "N-2000")
	if err != nil {
		v.Fatal(err)
	}
	if err := bazaar.OrderStoreOf(v.site.db, "tenant-1").Delete(v.Context(), o.ID); err != nil {
		v.Fatal(err)
	}
}

func (v *visit) seeRecord() {
	v.openView("record?id="+firstOrder+"&"+ordersPath, firstOrder)
	v.WantText("main", "Domkloster 4")
	v.WantText("main", "message(Address)")
	v.CheckPage("record")
	v.press("section:last-of-type summary")
	v.WantSoon("section:last-of-type details[open]", "key")
	v.seeInnerJSON()
}

// seeInnerJSON sees a text that is JSON laid out, with all digits of its numbers.
func (v *visit) seeInnerJSON() {
	const id = 72623859790382858
	store := bazaar.OrderStoreOf(v.site.db, "tenant-1")
	for number, laidOut := range map[string]bool{`{"a":{"b":9007199254740993}}`: true, `{"a":`: false} {
		var was string
		if err := store.Update(v.Context(), id, func(o *bazaar.Order) error { was, o.Number = o.Number, number; return nil }); err != nil {
			v.Fatal(err)
		}
		v.openView(fmt.Sprintf("record?id=%d&%s", id, ordersPath), "Order")
		v.WantText("main", `"a"`)
		if shown := browsertest.Evaluate[bool](v.Page, "[...document.querySelectorAll('[data-inner]')].some(e => e.innerText.includes('    \"b\": 9007199254740993'))"); shown != laidOut {
			v.Errorf("%s is laid out: %v", number, shown)
		}
		if err := store.Update(v.Context(), id, func(o *bazaar.Order) error { o.Number = was; return nil }); err != nil {
			v.Fatal(err)
		}
	}
}

func (v *visit) editRecord() {
	v.openView("record?id="+firstOrder+"&"+ordersPath, firstOrder)
	v.press("#edit")
	v.WantSoon(".editor", "as JSON")
	v.CheckPage("editor")
	v.replaceJSON(`"Amount": -300`, `"Amount": 9007199254740993`)
	v.press("#save")
	v.WantSoon(".toasts", "The record was saved.")
	v.WantSoon("main", "9007199254740993")
	v.press("#edit")
	v.WantSoon(".editor", "as JSON")
	store := bazaar.OrderStoreOf(v.site.db, "tenant-1")
	change := func(o *bazaar.Order) error { o.Country = "PT"; return nil }
	if err := store.Update(v.Context(), 72623859790382856, change); err != nil {
		v.Fatal(err)
	}
	v.replaceJSON(`"Country": "DE"`, `"Country": "ES"`)
	v.press("#save")
	v.WantSoon(".editor [role=alert]", "The record has changed in the database")
	v.WantText("main", "DE")
	v.pressText(".editor", "Load it as it is now")
	v.WantSoon("main table", "PT")
	v.press("#edit")
	v.WantSoon(".editor", "as JSON")
	v.replaceJSON(`"Amount": 9007199254740993`, `"Amount": "much"`)
	v.press("#save")
	v.WantSoon(".editor [role=alert]", "Amount")
	v.editInList()
	v.deleteRecord(store)
}

// editInList changes a record from the list, and stays there.
func (v *visit) editInList() {
	v.openView("records?limit=5&"+ordersPath, "Order")
	v.pressText("tbody tr:first-child", "Edit")
	v.WantSoon(".editor", "as JSON")
	v.CheckPage("editor in the list")
	v.replaceJSON(`"Country": "PT"`, `"Country": "DE"`)
	v.press("#save")
	v.WantSoon(".toasts", "The record was saved.")
	v.WantSoon("tbody tr:first-child", "DE")
	v.wantAddress("records?limit=5")
}

func (v *visit) deleteRecord(store *bazaar.OrderStore) {
	const last = "72623859790382879"
	v.openView("record?id="+last+"&"+ordersPath, last)
	v.press("#delete")
	v.WantSoon("dialog", "It cannot be undone.")
	v.WantText("dialog", "its entries in")
	v.CheckPage("delete")
	v.PressKeys(kb.Escape)
	if !v.AwaitTrue("!document.querySelector('dialog') && document.activeElement.id === 'delete'") {
		v.Error("Escape does not lead back to the button")
	}
	v.press("#delete")
	v.pressText("dialog", "Delete the record")
	v.WantSoon(".toasts", "The record was deleted.")
	v.wantAddress("records?")
	if there, err := store.Exists(v.Context(), idgen.ID(72623859790382879)); err != nil || there {
		v.Errorf("the record is there: %v, %v", there, err)
	}
}

// replaceJSON changes the text in the editor.
func (v *visit) replaceJSON(from, to string) {
	v.Helper()
	if !browsertest.Evaluate[bool](v.Page, "(() => { const a = document.getElementById('json'); const was = a.value; a.value = was.replace('"+from+"', '"+to+"'); return a.value !== was; })()") {
		v.Fatalf("the editor has no %s: %s", from, browsertest.Evaluate[string](v.Page, "document.getElementById('json').value"))
	}
}

// followReferences goes from a record to the one to which it refers, by the list and by the view of the record.
func (v *visit) followReferences() {
	customers, orders := deleted.CustomerStoreOf(v.site.db), deleted.OrderStoreOf(v.site.db)
	if err := customers.Create(v.Context(), &deleted.Customer{ID: 7, Name: "Anna"}); err != nil {
		v.Fatal(err)
	}
	for _, o := range []*deleted.Order{{ID: 1, CustomerID: 7, Number: "B-1", Serial: 1}, {ID: 2, Number: "B-2", Serial: 2}} {
		if err := orders.Create(v.Context(), o); err != nil {
			v.Fatal(err)
		}
	}
	v.openView("records?p=Order&type=Order", "Order")
	v.CheckPage("records with references")
	if n := browsertest.Evaluate[int](v.Page, "document.querySelectorAll('tbody td[data-name=CustomerID] a').length"); n != 1 {
		v.Errorf("%d references are links, want the one that leads somewhere", n)
	}
	v.press("tbody td[data-name=CustomerID] a")
	v.WantSoon("h1", "Customer 7")
	v.WantText("main", "Anna")
	v.openView("record?p=Order&type=Order&id=1", "Order 1")
	v.pressText("main table", "7")
	v.WantSoon("h1", "Customer 7")
}
