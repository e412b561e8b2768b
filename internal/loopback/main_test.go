package loopback_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		os.Exit(rankProcess())
	}
	goleak.VerifyTestMain(m)
}
