// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"strings"
	"testing"

	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

// FuzzHandler sends whatever it likes. Each answer is one that request accepts,
// and none but that of a grant has a secret in it.
func FuzzHandler(f *testing.F) {
	f.Add("POST", "/lease", `{"throughputPerMs":300,"requestKey":"k"}`, secret)
	f.Add("DELETE", "/lease/0", `{"bitSeq":8,"created":1,"lastTs":1,"timestamp":1,"signature":"00"}`, secret)
	f.Add("GET", "/leases?limit=2&after=00000000", ``, secret)
	f.Add("POST", "/lease", `{"serviceId":"a","meta":{"a":"\u0000"}}`, "")
	provider := newMemory(f)
	f.Fuzz(func(t *testing.T, method, target, body, token string) {
		h := handler(t, provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "t", Secret: secret, List: true, MaxLeasedPerMs: 4096}}})
		res := send(t, h, method, target, body, "Authorization", "Bearer "+token)
		if res.Code >= 300 || method != "POST" {
			if strings.Contains(res.Body.String(), `"secret"`) {
				t.Errorf("%d tells a secret: %s", res.Code, res.Body)
			}
		}
		if res.Code == 500 {
			t.Errorf("%s", res.Body)
		}
	})
}
