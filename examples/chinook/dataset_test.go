// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadDataset(t *testing.T) {
	const track = `"Track": [{"TrackId": 1, "Composer": "", "UnitPrice": 0.29}]`
	tests := []struct{ name, file, fault string }{
		{"good", `{` + track + `, "Invoice": [{"InvoiceDate": "2021-02-03T04:05:06", "BillingState": null}]}`, ""},
		{"not JSON", `Chinook`, "invalid character"},
		{"another file", `{"Customers": []}`, "no tracks or no invoices"},
		{"bad date", `{"Invoice": [{"InvoiceDate": "yesterday"}]}`, "yesterday"},
		{"bad price", `{"Track": [{"UnitPrice": "free"}]}`, "cannot unmarshal string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data.json")
			if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := readDataset(path)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) || !strings.Contains(err.Error(), path) {
					t.Errorf("readDataset says %v, want the path and %q", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := Cents(d.Track[0].UnitPrice).String(); got != "0.29" { // 0.29*100 is 28.999…
				t.Errorf("the price is %s, want 0.29", got)
			}
			if d.Track[0].Composer.value() != nil || d.Invoice[0].BillingState.value() != nil {
				t.Error("an empty text or a null has a value")
			}
			if want := time.Date(2021, 2, 3, 4, 5, 6, 0, time.UTC); !d.Invoice[0].InvoiceDate.Equal(want) {
				t.Errorf("the date is %v, want %v", d.Invoice[0].InvoiceDate, want)
			}
		})
	}
}
