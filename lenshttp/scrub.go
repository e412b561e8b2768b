//go:build !lens_noop

package lenshttp

import (
	"net/url"
	"strings"

	"github.com/nemo-lens/lens/internal/report"
)

const maxErrorText = 512

// errorText returns what an error of a request to u says, cut to a sane length,
// without what u or a server's answer may have brought into it.
func errorText(err error, u *url.URL) string {
	text := report.Describe(err)
	if u != nil {
		if strings.Contains(u.RawQuery, "=") {
			text = strings.ReplaceAll(text, u.RawQuery, "")
		}
		if password, ok := u.User.Password(); ok && password != "" {
			text = strings.ReplaceAll(text, password, "")
		}
	}
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "..."
	}
	return text
}
