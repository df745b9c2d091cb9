/*
 * test_port_owner.c - the user of a TCP port.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "gpu/port_owner.h"
#include "unit_test.h"

#define HEAD                                                                                  \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  " \
	"timeout inode\n"

static bool trusted(const char *rows, unsigned port, uid_t user)
{
	char text[2048];
	FILE *f;
	bool is;

	snprintf(text, sizeof(text), HEAD "%s", rows);
	f = fmemopen(text, strlen(text), "r");
	is = hes_port_table_is_trusted(f, port, user);
	fclose(f);
	return is;
}

TEST(a_port_is_trusted_if_root_or_the_user_listens_there)
{
	static const char of_root[] = "   0: 0100007F:15B3 00000000:0000 0A 00000000:00000000 "
				      "00:00000000 00000000     0        0 21 1 0 100 0 0 10 0\n";
	static const char of_1000[] = "   1: 0100007F:15B3 00000000:0000 0A 00000000:00000000 "
				      "00:00000000 00000000  1000        0 22 1 0 100 0 0 10 0\n";
	static const char connected[] = "   2: 0100007F:15B3 0100007F:A1B2 01 00000000:00000000 "
					"00:00000000 00000000  1000        0 23 1 0 100 0 0 10 0\n";
	static const char version_6[] =
		"   0: 00000000000000000000000001000000:15B3 00000000000000000000000000000000:0000 "
		"0A 00000000:00000000 00:00000000 "
		"00000000  1000        0 24 1 0 100 0 0 10 0\n";

	assert_true(trusted("", 5555, 0));
	assert_true(trusted(of_root, 5555, 1000));
	assert_false(trusted(of_1000, 5555, 0));
	assert_true(trusted(of_1000, 5555, 1000));
	assert_true(trusted(of_1000, 5556, 0));
	assert_true(trusted(connected, 5555, 0));
	assert_false(trusted(version_6, 5555, 0));
}

TEST(a_port_of_this_process_belongs_to_its_user)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	assert_true(hes_port_is_trusted(ntohs(at.sin_port), geteuid()));
	assert_int_equal(hes_port_is_trusted(ntohs(at.sin_port), geteuid() + 1), geteuid() == 0);
	close(fd);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
