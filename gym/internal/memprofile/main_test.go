package memprofile

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// roleVar makes this test binary a process to be measured. Its value is what that process does.
const roleVar = "MEMPROFILE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		goleak.VerifyTestMain(m)
	case "idle":
		ready()
	case "hold":
		hold(100 << 20)
	case "headless":
		endMainThread(64 << 20)
	case "parent":
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), roleVar+"=idle")
		in, err := child.StdinPipe()
		if err != nil {
			panic(err)
		}
		out, err := child.StdoutPipe()
		if err != nil {
			panic(err)
		}
		if err := child.Start(); err != nil {
			panic(err)
		}
		if _, err := out.Read(make([]byte, 16)); err != nil {
			panic(err)
		}
		fmt.Println(child.Process.Pid)
		ready()
		in.Close()
		_ = child.Wait()
	}
}

// ready says so, and waits until the test closes the pipe or is gone itself.
func ready() {
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// start runs this binary in a role, waits until it is ready, and returns it with what it said before.
func start(t testing.TB, role string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role, "GOGC=off", "GOCOVERDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var said strings.Builder
	for buf := make([]byte, 64); !strings.Contains(said.String(), "ready"); {
		n, err := out.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			t.Fatalf("the process in role %q ended: %v", role, err)
		}
	}
	return cmd, strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(said.String()), "ready"))
}
