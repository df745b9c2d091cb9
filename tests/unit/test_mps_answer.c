/* test_mps_answer.c - lists of servers and clients as the MPS control daemon prints them. */
#include "gpu/mps_answer.h"
#include "unit_test.h"

TEST(each_line_of_a_list_is_a_process)
{
	pid_t v[2] = { 0 };

	assert_int_equal(hes_mps_processes_read("12\n  34 client\n56\n", v, 2), 3);
	assert_int_equal(v[0], 12);
	assert_int_equal(v[1], 34);
	assert_int_equal(hes_mps_processes_read("", v, 2), 0);
	assert_int_equal(hes_mps_processes_read("Server 12\nnone\n", v, 2), 0);
}

/* Cut to a pid_t the first is process 1. */
TEST(a_number_that_is_no_process_is_skipped)
{
	pid_t v[1] = { 77 };

	assert_int_equal(hes_mps_processes_read(
				 "4294967297\n2147483648\n-5\n0\n99999999999999999999\n", v, 1),
			 0);
	assert_int_equal(v[0], 77);
}

TEST(empty_lines_are_skipped)
{
	pid_t v[2] = { 0 };

	assert_int_equal(hes_mps_processes_read("\n\n12\n", v, 2), 1);
	assert_int_equal(v[0], 12);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
