// SPDX-License-Identifier: Apache-2.0

package studio_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/studio"
)

// A program shows its database at an address of its own while it uses it.
func Example() {
	engine, err := embedded.OpenMemory()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	db, err := persistable.Open(context.Background(), engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	const token = "0123456789abcdef0123456789abcdef" // in a program: os.Getenv("STUDIO_TOKEN")
	pages, err := studio.New(db, studio.Options{Token: token, Database: "orders of the shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pages.Close()
	mux := http.NewServeMux()
	mux.Handle("/studio/", http.StripPrefix("/studio", pages))
	server := httptest.NewServer(mux)
	defer server.Close()

	for _, entered := range []string{"a guess", token} {
		fmt.Println(look(server.URL+"/studio/", entered))
	}
	// Output:
	// 401 Unauthorized
	// {"database":"orders of the shop","engine":"embedded","write":false}
}

// look enters a token as the page does, and asks what is shown.
func look(at, token string) string {
	jar, _ := cookiejar.New(nil) // it does not fail
	browser := &http.Client{Jar: jar}
	enter, err := http.NewRequest(http.MethodPost, at+"enter", strings.NewReader(`{"token":"`+token+`"}`))
	if err != nil {
		return err.Error()
	}
	enter.Header.Set("Origin", strings.TrimSuffix(at, "/studio/"))
	enter.Header.Set("Content-Type", "application/json")
	entered, err := browser.Do(enter)
	if err != nil {
		return err.Error()
	}
	entered.Body.Close()
	if entered.StatusCode != http.StatusNoContent {
		return entered.Status
	}
	answer, err := browser.Get(at + "api/info")
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
